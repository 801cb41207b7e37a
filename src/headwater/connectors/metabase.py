"""Metabase's REST API: questions and dashboards, the tables they read, and when a person last looked (Metabase 50 and later)."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from headwater.connectors import Send
from headwater.connectors.bi import DIALECTS, Placed, asset, namespaces_of, table_name, tables_of_sql, usage
from headwater.connectors.changed import Changes
from headwater.connectors.metabase_columns import Builder, Column
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, NotFound
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.moments import aware
from headwater.model.names import DatasetName

TOOL: Final = "metabase"


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    settings = task.settings
    with Rest(settings["address"]) as rest:
        _sign_in(rest, settings)
        user = rest.get("/api/user/current")
        yield ConnectorCheck("connect", "ok", f"Metabase, as {user.get('email') or user.get('common_name')}")
        databases = _databases(rest, settings)
        yield ConnectorCheck("cards", "ok", f"{len(rest.get('/api/card') or []):,} questions can be read")
        for one in databases.values():
            if one.namespace is None:
                yield ConnectorCheck(
                    "databases",
                    "missing",
                    f"where the database {one.name!r} is, is not shown to this user, so its tables are not seen",
                    f"--namespaces '{one.name}=postgres://HOST:5432', or an API key of the group Administrators",
                )


class _Database:
    def __init__(self, row: Mapping[str, Any], namespaces: Mapping[str, str]) -> None:
        self.name, engine = str(row["name"]), str(row.get("engine") or "")
        details = row.get("details") or {}
        self.dialect = DIALECTS.get(engine, "")
        self.database = str(details.get("dbname") or details.get("db") or "") or None
        self.namespace = namespaces.get(self.name) or _namespace(engine, details)


def _namespace(engine: str, details: Mapping[str, Any]) -> str | None:
    """Return the namespace of a database of Metabase, as OpenLineage's naming page has it."""
    if engine == "bigquery-cloud-sdk":
        return "bigquery"
    if engine == "snowflake":
        return f"snowflake://{details['account']}" if details.get("account") else None
    host, port = details.get("host"), details.get("port")
    scheme = {
        "postgres": "postgres",
        "redshift": "redshift",
        "mysql": "mysql",
        "sqlserver": "mssql",
        "starburst": "trino",
    }.get(engine)
    usual = {"postgres": 5432, "redshift": 5439, "mysql": 3306, "mssql": 1433, "trino": 8080}
    return f"{scheme}://{host}:{port or usual[scheme]}" if scheme and host else None


def pull(task: ConnectorTask, send: Send) -> PullReport:
    with Rest(task.settings["address"]) as rest:
        _sign_in(rest, task.settings)
        return _pull(rest, task, send)


def _pull(rest: Rest, task: ConnectorTask, send: Send) -> PullReport:
    before = task.cursor or {}
    source = _Source(rest, task.settings, dt.datetime.now(dt.UTC))
    changes, rows, newest = Changes(before.get("assets")), 0, None
    cards = rest.get("/api/card") or []
    source.cards = {int(card["id"]): card for card in cards}
    for card in cards:
        rows += 1
        name, reads, sql = f"card/{card['id']}", *source.reads(card)
        columns = source.columns(card)
        looked = _looked(card)
        told = [
            card.get("name"),
            card.get("description"),
            reads,
            sql,
            card.get("view_count"),
            card.get("last_used_at"),
            columns,
            _place(card),
        ]
        if changes.is_new(name, told):
            send(source.event(card, name, f"question/{card['id']}", reads, sql, looked, columns))
        newest = max(filter(None, (newest, looked)), default=None)
    for listed in rest.get("/api/dashboard") or []:
        board = rest.get(f"/api/dashboard/{listed['id']}")
        rows += 1
        shown = board.get("dashcards") or board.get("ordered_cards") or []
        ids = dict.fromkeys(int(one["card_id"]) for one in shown if one.get("card_id"))
        reads = [DatasetName(TOOL, f"card/{id_}") for id_ in ids if id_ in source.cards]
        name, looked = f"dashboard/{board['id']}", _looked(board)
        told = [
            board.get("name"),
            board.get("description"),
            reads,
            board.get("view_count"),
            board.get("last_viewed_at"),
            _place(board),
        ]
        if changes.is_new(name, told):
            send(source.event(board, name, name, reads, None, looked))
        newest = max(filter(None, (newest, looked)), default=None)
    return PullReport(rows, {"assets": changes.digests}, newest, tuple(source.warnings))


class _Source:
    """One Metabase. Tables are asked for once."""

    def __init__(self, rest: Rest, settings: Mapping[str, str], now: dt.datetime) -> None:
        self._rest, self._url, self._now = rest, settings["address"].rstrip("/"), now
        self._databases = _databases(rest, settings)
        self._tables: dict[int, DatasetName | None] = {}
        self._fields: dict[int, Column | None] = {}
        self._read_tables: set[int] = set()
        self._builder = Builder(self._field, self._source, self._names_of)
        self.cards: dict[int, Mapping[str, Any]] = {}
        self.warnings = [
            f"where the database {one.name!r} is, is not known: its tables are not seen" for one in self._databases.values() if one.namespace is None
        ]  # fmt: skip

    def reads(self, card: Mapping[str, Any]) -> tuple[list[DatasetName], str | None]:
        """Return what a question reads, and its SQL, if it has any, with a value for each variable: so its columns can be read too."""
        query = card.get("dataset_query") or {}
        database = self._databases.get(int(query.get("database") or card.get("database_id") or 0))
        native = (query.get("native") or {}).get("query")
        if isinstance(native, str):
            sql = _without_tags(native)
            if database is None or database.namespace is None:
                return [], sql
            return tables_of_sql(sql, database.dialect, database.namespace, database.database), sql
        return [name for one in _sources(query.get("query") or {}) if (name := self._source(one)) is not None], None

    def columns(self, card: Mapping[str, Any]) -> dict[str, list[Column]]:
        """Return what each column of a question of the builder is made of; of one in SQL the server reads that itself."""
        query = (card.get("dataset_query") or {}).get("query")
        if not isinstance(query, dict):
            return {}
        for one in _sources(query):
            if isinstance(one, int):
                self._read_fields(one)
        return self._builder.find_columns(query, card.get("result_metadata") or [])

    def _names_of(self, card: str) -> list[str]:
        shown = self.cards.get(int(card.removeprefix("card__")), {}).get("result_metadata") or []
        return [one["name"] for one in shown if isinstance(one.get("name"), str)]

    def _read_fields(self, table: int) -> None:
        """Ask once for the fields of a table."""
        if table in self._read_tables:
            return
        self._read_tables.add(table)
        try:
            row = self._rest.get(f"/api/table/{table}/query_metadata")
        except (NotFound, Forbidden):
            return
        name = self._source(table)
        for field in row.get("fields") or []:
            self._fields[int(field["id"])] = (name, str(field["name"])) if name is not None else None

    def _field(self, id_: int) -> Column | None:
        """Return the column with this number: one of another table, which the builder reaches by a foreign key, is asked for by itself."""
        if id_ not in self._fields:
            try:
                row = self._rest.get(f"/api/field/{id_}")
                name = self._source(int(row["table_id"]))
                self._fields[id_] = (name, str(row["name"])) if name is not None else None
            except (NotFound, Forbidden) as error:
                self.warnings.append(f"field {id_} was not read: {error.message[:200]}")
                self._fields[id_] = None
        return self._fields[id_]

    def _source(self, one: int | str) -> DatasetName | None:
        if isinstance(one, str):  # another question: card__12
            id_ = one.removeprefix("card__")
            return DatasetName(TOOL, f"card/{id_}") if id_.isdigit() and int(id_) in self.cards else None
        if one not in self._tables:
            self._tables[one] = self._table(one)
        return self._tables[one]

    def _table(self, id_: int) -> DatasetName | None:
        try:
            row = self._rest.get(f"/api/table/{id_}")
        except (NotFound, Forbidden) as error:
            self.warnings.append(f"table {id_} was not read: {error.message[:200]}")
            return None
        database = self._databases.get(int(row["db_id"]))
        if database is None or database.namespace is None:
            return None
        return table_name((database.database, row.get("schema"), row["name"]), database.dialect, database.namespace)

    def event(
        self,
        row: Mapping[str, Any],
        name: str,
        path: str,
        reads: list[DatasetName],
        sql: str | None,
        looked: dt.datetime | None,
        columns: Mapping[str, list[Column]] = MappingProxyType({}),
    ) -> dict[str, Any]:
        views = row.get("view_count")
        told = usage(views, looked, self._now) if looked or isinstance(views, int) else None
        return asset(
            TOOL, name, str(row.get("name") or name), reads, self._now, url=f"{self._url}/{path}", sql=sql,
            description=row.get("description"), usage=told, columns=columns, place=_place(row),
        )  # fmt: skip


def _sources(query: Mapping[str, Any]) -> Iterator[int | str]:
    """Yield the tables and questions of a query of Metabase's builder, at any depth."""
    if (source := query.get("source-table")) is not None:
        yield source
    for join in query.get("joins") or []:
        yield from _sources(join)
    if isinstance(query.get("source-query"), dict):
        yield from _sources(query["source-query"])


def _without_tags(sql: str) -> str:
    """Return the query with Metabase's `[[optional]]` clauses gone and each `{{variable}}` a value."""
    return re.sub(r"\{\{[^{}]*\}\}", "1", re.sub(r"\[\[.*?\]\]", "", sql, flags=re.DOTALL))


def _looked(row: Mapping[str, Any]) -> dt.datetime | None:
    text = row.get("last_viewed_at") or row.get("last_used_at")
    return aware(dt.datetime.fromisoformat(text)) if isinstance(text, str) else None


def _place(row: Mapping[str, Any]) -> Placed:
    """Return who made a question or dashboard, and the collection that holds it."""
    creator, collection = row.get("creator") or {}, row.get("collection") or {}
    return Placed(creator.get("email") or creator.get("common_name"), collection.get("name"))


def _databases(rest: Rest, settings: Mapping[str, str]) -> dict[int, _Database]:
    found = rest.get("/api/database")
    listed = found.get("data") if isinstance(found, dict) else found
    namespaces = namespaces_of(settings.get("namespaces", ""))
    return {int(row["id"]): _Database(row, namespaces) for row in listed or []}


def _sign_in(rest: Rest, settings: Mapping[str, str]) -> None:
    if key := settings.get("api_key"):
        rest.headers["X-API-Key"] = key
    else:
        body = {"username": settings.get("user", ""), "password": settings.get("password", "")}
        rest.headers["X-Metabase-Session"] = str(rest.post("/api/session", body)["id"])
