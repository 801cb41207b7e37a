"""Looker's API 4.0: dashboards and their tiles, the columns that these read by way of LookML, owners, folders, and the last views.

Fields of LookML and the tables behind them are null for a user without the permission `see_lookml`
(https://cloud.google.com/looker/docs/reference/looker-api/latest/types/LookmlModelExploreField).
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from headwater.connectors import Send
from headwater.connectors.bi import DIALECTS, Placed, asset, namespaces_of, table_name, usage
from headwater.connectors.changed import Changes
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, NotFound
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.moments import aware
from headwater.model.names import DatasetName

TOOL: Final = "looker"
_API: Final = "/api/4.0"
_MOST: Final = 20_000
_DEEPEST: Final = 20
_COLUMN: Final = re.compile(r"\$\{TABLE\}\.[\"`\[]?(\w+)")
_FIELD: Final = re.compile(r"\$\{((?:\w+\.)?\w+)\}")


class _Explore(msgspec.Struct, frozen=True):
    """An explore: its tables by view, and the expression of each field. `hidden`: whether the user may not see LookML."""

    connection: str
    tables: dict[str, str]
    expressions: dict[str, str]
    hidden: bool

    def columns(self, field: str, depth: int = 0) -> Iterator[tuple[str, str]]:
        """The columns that a field (`view.field`) is made of, each with its view."""
        expression = self.expressions.get(field, "")
        view = field.partition(".")[0]
        yield from ((view, column) for column in _COLUMN.findall(expression))
        for other in _FIELD.findall(expression) if depth < _DEEPEST else ():
            name = other if "." in other else f"{view}.{other}"
            if other != "TABLE" and name != field:
                yield from self.columns(name, depth + 1)


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    with Rest(task.settings["address"]) as rest:
        _sign_in(rest, task.settings)
        boards = _boards(rest)
        yield ConnectorCheck("connect", "ok", f"Looker, with {len(boards):,} dashboards that this key may see")
        models = rest.get(f"{_API}/lookml_models", {"fields": "name,explores"}) or []
        some = next(((one["name"], each["name"]) for one in models for each in one.get("explores") or []), None)
        if some is None or (explore := _explore(rest, *some)) is None or explore.hidden:
            yield ConnectorCheck(
                "lookml", "missing", "the tables and columns behind LookML are not shown to this user",
                "give its role the permissions see_lookml and explore, and add the models to its model set",
            )  # fmt: skip
        else:
            yield ConnectorCheck("lookml", "ok", "tables and columns behind LookML can be read")
        known = namespaces_of(task.settings["namespaces"])
        try:
            names = {one["name"] for one in rest.get(f"{_API}/connections", {"fields": "name"}) or []} - {"looker"}
        except (Forbidden, NotFound):
            names = {explore.connection} if some is not None and explore is not None else set()
        for name in sorted(names - known.keys() - {""}):
            yield ConnectorCheck(
                "connections", "missing", f"where the connection {name!r} leads is not known, so its tables are not seen",
                f"--namespaces '{name}=postgres://HOST:5432'",
            )  # fmt: skip
        try:
            rest.get(f"{_API}/users", {"fields": "id,email", "limit": 1})
            yield ConnectorCheck("users", "ok", "who owns a dashboard can be read")
        except (Forbidden, NotFound):
            yield ConnectorCheck(
                "users", "missing", "names of owners are not shown to this user", "give its role the permission see_users"
            )  # fmt: skip


def pull(task: ConnectorTask, send: Send) -> PullReport:
    with Rest(task.settings["address"]) as rest:
        _sign_in(rest, task.settings)
        return _Pull(rest, task, send).run()


class _Pull:
    """One pull; explores are read once."""

    def __init__(self, rest: Rest, task: ConnectorTask, send: Send) -> None:
        self._rest, self._task, self._send = rest, task, send
        self._url = task.settings["address"].rstrip("/")
        self._namespaces = namespaces_of(task.settings["namespaces"])
        self._explores: dict[tuple[str, str], _Explore | None] = {}
        self._warnings: dict[str, None] = {}
        self._now = dt.datetime.now(dt.UTC)
        self._changes = Changes((task.cursor or {}).get("assets"))

    def run(self) -> PullReport:
        owners, rows, newest = self._owners(), 0, None
        for listed in _boards(self._rest):
            try:
                board = self._rest.get(f"{_API}/dashboards/{listed['id']}")
            except (Forbidden, NotFound):
                self._warn(
                    f"the dashboard {str(listed.get('title') or listed['id'])[:80]!r} was not shown to this user"
                )
                continue
            if board.get("deleted"):
                continue
            rows += 1 + len(board.get("dashboard_elements") or [])
            place = Placed(owners.get(str(board.get("user_id") or "")), (board.get("folder") or {}).get("name"))
            last = _time(board.get("last_viewed_at") or board.get("last_accessed_at"))
            newest = max((one for one in (newest, last) if one is not None), default=None)
            tiles = [tile for each in board.get("dashboard_elements") or [] if (tile := self._tile(board, each, place))]
            self._board(board, tiles, place, last)
        return PullReport(rows, {"assets": self._changes.digests}, newest, tuple(self._warnings))

    def _board(
        self, board: Mapping[str, Any], tiles: list[DatasetName], place: Placed, last: dt.datetime | None
    ) -> None:
        name, views = f"dashboard/{board['id']}", int(board.get("view_count") or 0)
        content = [board.get("title"), board.get("description"), tiles, place, views, str(last)]
        if self._changes.is_new(name, content):
            self._send(
                asset(
                    TOOL, name, str(board.get("title") or name), tiles, self._now, url=f"{self._url}/dashboards/{board['id']}",
                    description=board.get("description"), usage=usage(views, last, self._now), place=place,
                )
            )  # fmt: skip

    def _tile(self, board: Mapping[str, Any], tile: Mapping[str, Any], place: Placed) -> DatasetName | None:
        """Send a tile that asks for data; None for one of text."""
        query = (
            tile.get("query") or (tile.get("look") or {}).get("query") or (tile.get("result_maker") or {}).get("query")
        )
        if not query or not query.get("model"):
            return None
        name = f"dashboard/{board['id']}/element/{tile['id']}"
        fields, tables = self._fields(str(query["model"]), str(query["view"]), list(query.get("fields") or []))
        title = str(tile.get("title") or (tile.get("look") or {}).get("title") or name)
        if self._changes.is_new(name, [title, tables, sorted(fields.items()), place]):
            self._send(asset(TOOL, name, title, tables, self._now, place=place, columns=fields))
        return DatasetName(TOOL, name)

    def _fields(
        self, model: str, view: str, fields: list[str]
    ) -> tuple[dict[str, list[tuple[DatasetName, str]]], list[DatasetName]]:
        """Return the columns behind each field, and the tables that the query reads."""
        key = model, view
        if key not in self._explores:
            self._explores[key] = _explore(self._rest, model, view)
        explore = self._explores[key]
        if explore is None:
            self._warn(f"the explore {model}::{view} is not shown to this user; add its model to the user's model set")
            return {}, []
        namespace = self._namespaces.get(explore.connection)
        if namespace is None:
            self._warn(f"where the connection {explore.connection!r} leads is not known: its tables are not seen")
            return {}, []
        if explore.hidden:
            self._warn(f"the tables behind {model}::{view} are not shown to this user; give its role see_lookml")
        dialect = DIALECTS.get(namespace.partition(":")[0], "")
        named = {one: table_name(_parts(text), dialect, namespace) for one, text in explore.tables.items()}
        found: dict[str, list[tuple[DatasetName, str]]] = {}
        used = {view}
        for field in fields:
            columns = list(explore.columns(field))
            used |= {field.partition(".")[0], *(one for one, _ in columns)}
            found[field] = [(named[one], column) for one, column in dict.fromkeys(columns) if one in named]
        return found, [named[one] for one in explore.tables if one in used]

    def _owners(self) -> dict[str, str]:
        try:
            listed = self._rest.get(f"{_API}/users", {"fields": "id,email,display_name", "limit": _MOST}) or []
        except (Forbidden, NotFound):
            self._warn("names of owners were not read; give the user's role the permission see_users")
            return {}
        return {str(one["id"]): str(one.get("email") or one.get("display_name")) for one in listed}

    def _warn(self, text: str) -> None:
        self._warnings[text] = None


def _explore(rest: Rest, model: str, name: str) -> _Explore | None:
    """Read an explore; None if the user may not see it."""
    try:
        told = rest.get(f"{_API}/lookml_models/{model}/explores/{name}")
    except (Forbidden, NotFound):
        return None
    views = {str(told.get("view_name") or name): told.get("sql_table_name")}
    views |= {str(one["name"]): one.get("sql_table_name") for one in told.get("joins") or []}
    listed = told.get("fields") or {}
    expressions = {
        str(one["name"]): str(one["sql"])
        for kind in ("dimensions", "measures", "filters", "parameters")
        for one in listed.get(kind) or []
        if one.get("sql")
    }
    tables = {view: str(table) for view, table in views.items() if table}
    hidden = not tables and not expressions
    return _Explore(str(told.get("connection_name") or ""), tables, expressions, hidden)


def _parts(table: str) -> list[str]:
    return [part.strip('"`[] ') for part in table.split(".")]


def _time(text: object) -> dt.datetime | None:
    return aware(dt.datetime.fromisoformat(text)) if isinstance(text, str) and text else None


def _boards(rest: Rest) -> list[dict[str, Any]]:
    return list(rest.get(f"{_API}/dashboards", {"fields": "id,title"}) or [])[:_MOST]


def _sign_in(rest: Rest, settings: Mapping[str, str]) -> None:
    fields = {"client_id": settings["client_id"], "client_secret": settings.get("client_secret", "")}
    rest.headers["Authorization"] = f"token {rest.form(f'{_API}/login', fields)['access_token']}"
