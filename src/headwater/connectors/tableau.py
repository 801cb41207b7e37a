"""Tableau's Metadata API and REST API: dashboards and their sheets, the columns that these read, owners, projects, and views.

The REST API counts the views of a sheet or dashboard and has no time of the last one. So a pull that finds a higher count than the one before says
that it was looked at by then; the first pull knows only of those that were never looked at.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headwater.connectors import Send
from headwater.connectors.bi import DIALECTS, Placed, asset, namespaces_of, table_name, usage
from headwater.connectors.changed import Changes
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, InvalidQuestion, NotFound
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.names import DatasetName

TOOL: Final = "tableau"
_PAGE: Final = 50
_VIEWS: Final = 1000
_MOST: Final = 20_000
_WORKBOOKS: Final = """query workbooks($first: Int, $after: String) { workbooksConnection(first: $first, after: $after) {
  nodes { luid name projectName description owner { username email }
    dashboards { id luid name path sheets { id luid } }
    sheets { id luid name path sheetFieldInstances { name upstreamColumns { name table { __typename
      ... on DatabaseTable { name schema database { name connectionType } } } } }
      upstreamTables { name schema database { name connectionType } } } }
  pageInfo { hasNextPage endCursor } } }"""
_NO_METADATA: Final = "turn the Metadata API on: tsm maintenance metadata-services enable"


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    with Rest(task.settings["address"]) as rest:
        site = _sign_in(rest, task.settings)
        yield ConnectorCheck("connect", "ok", f"Tableau, site {task.settings.get('site') or 'Default'}")
        try:
            found = _ask(rest, 1, None)
        except (Forbidden, NotFound):
            yield ConnectorCheck("metadata", "failed", "the Metadata API does not answer", _NO_METADATA)
            return
        if refused := _refused(found):
            yield ConnectorCheck(
                "metadata", "missing", f"parts of the site are not shown to this user: {refused}",
                "make the user a Site Administrator Explorer, or give it View on the projects and their databases",
            )  # fmt: skip
        else:
            yield ConnectorCheck("metadata", "ok", "workbooks, sheets and their columns can be read")
        known = namespaces_of(task.settings["namespaces"])
        books = _connection(found).get("nodes") or []
        for name in sorted({_database(one) for book in books for one in _tables(book)} - known.keys() - {""}):
            yield ConnectorCheck(
                "databases", "missing", f"where the database {name!r} is, is not known, so its tables are not seen",
                f"--namespaces '{name}=postgres://HOST:5432'",
            )  # fmt: skip
        try:
            next(_views(rest, site, task.settings), None)
            yield ConnectorCheck("views", "ok", "how often people looked can be read")
        except (Forbidden, NotFound):
            yield ConnectorCheck(
                "views", "missing", "how often people looked is not shown to this user",
                "make the user a Site Administrator Explorer",
            )  # fmt: skip


def pull(task: ConnectorTask, send: Send) -> PullReport:
    with Rest(task.settings["address"]) as rest:
        return _pull(rest, _sign_in(rest, task.settings), task, send)


def _pull(rest: Rest, site: str, task: ConnectorTask, send: Send) -> PullReport:
    before, now = task.cursor or {}, dt.datetime.now(dt.UTC)
    namespaces = namespaces_of(task.settings["namespaces"])
    warnings: dict[str, None] = {}
    looked = _looked(rest, site, task.settings, before.get("views") or {}, now, warnings)
    changes, rows = Changes(before.get("assets")), 0
    for book in _workbooks(rest, warnings):
        owner = book.get("owner") or {}
        place = Placed(owner.get("email") or owner.get("username") or None, book.get("projectName"))
        named = {
            sheet["id"]: DatasetName(TOOL, f"workbook/{book['luid']}/view/{_id(sheet)}") for sheet in book["sheets"]
        }
        for sheet in book["sheets"]:
            name = named[sheet["id"]].name
            tables, columns = _reads(sheet, namespaces, warnings)
            used = _usage(looked, sheet, now)
            rows += 1
            if changes.is_new(name, [sheet["name"], tables, sorted(columns.items()), place, looked.get(_id(sheet))]):
                send(asset(TOOL, name, sheet["name"], tables, now, usage=used, place=place, columns=columns))
        for board in book["dashboards"]:
            name = f"workbook/{book['luid']}/dashboard/{_id(board)}"
            sheets = [named[one["id"]] for one in board["sheets"] if one["id"] in named]
            rows += 1
            if changes.is_new(name, [board["name"], book.get("description"), sheets, place, looked.get(_id(board))]):
                url = f"{task.settings['address'].rstrip('/')}/#/views/{board['path']}" if board.get("path") else None
                send(
                    asset(
                        TOOL, name, board["name"], sheets, now, url=url, description=book.get("description"),
                        usage=_usage(looked, board, now), place=place,
                    )
                )  # fmt: skip
    newest = max((dt.datetime.fromisoformat(one["last"]) for one in looked.values() if one["last"]), default=None)
    return PullReport(rows, {"assets": changes.digests, "views": looked}, newest, tuple(warnings))


def _reads(
    sheet: Mapping[str, Any], namespaces: Mapping[str, str], warnings: dict[str, None]
) -> tuple[list[DatasetName], dict[str, list[tuple[DatasetName, str]]]]:
    """Return the tables that a sheet reads, and the columns behind each of its fields."""
    columns: dict[str, list[tuple[DatasetName, str]]] = {}
    for field in sheet.get("sheetFieldInstances") or []:
        columns[field["name"]] = [
            (table, column["name"])
            for column in field.get("upstreamColumns") or []
            if (table := _table(column.get("table"), namespaces, warnings)) is not None
        ]
    tables = [_table(one, namespaces, warnings) for one in sheet.get("upstreamTables") or []]
    found = [one for one in tables if one is not None] + [table for some in columns.values() for table, _ in some]
    return list(dict.fromkeys(found)), columns


def _table(
    told: Mapping[str, Any] | None, namespaces: Mapping[str, str], warnings: dict[str, None]
) -> DatasetName | None:
    """Return the name of a table; None for SQL of people, whose tables are listed beside it, and for a database that is not known."""
    if not told or not told.get("name") or not told.get("database"):
        return None
    database = _database(told)
    namespace = namespaces.get(database)
    if namespace is None:
        warnings[f"where the database {database!r} is, is not known: its tables are not seen"] = None
        return None
    dialect = DIALECTS.get(namespace.partition(":")[0], "")
    return table_name((database, told.get("schema"), str(told["name"])), dialect, namespace)


def _usage(looked: Mapping[str, Mapping[str, Any]], one: Mapping[str, Any], now: dt.datetime) -> dict[str, Any] | None:
    """Return what is known of views; None where they were counted before anyone could see when."""
    found = looked.get(_id(one))
    if found is None or (found["count"] and not found["last"]):
        return None
    return usage(found["count"], dt.datetime.fromisoformat(found["last"]) if found["last"] else None, now)


def _looked(
    rest: Rest, site: str, settings: Mapping[str, str], before: Mapping[str, Any], now: dt.datetime, warnings: dict[str, None]
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Return the views of each sheet and dashboard: how many, and by when the last was, as far as pulls saw the count rise."""
    found: dict[str, dict[str, Any]] = {}
    try:
        for row in _views(rest, site, settings):
            count = int((row.get("usage") or {}).get("totalViewCount") or 0)
            former = before.get(str(row["id"]))
            rose = former is not None and count > former["count"]
            found[str(row["id"])] = {"count": count, "last": now.isoformat() if rose else (former or {}).get("last")}
    except (Forbidden, NotFound) as error:
        warnings[f"how often people looked was not read: {error.message[:200]}"] = None
        return {key: dict(value) for key, value in before.items()}
    return found


def _views(rest: Rest, site: str, settings: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    path = f"/api/{settings['version']}/sites/{site}/views"
    for page in range(1, _MOST // _VIEWS + 1):
        told = rest.get(path, {"includeUsageStatistics": "true", "pageSize": _VIEWS, "pageNumber": page})
        found = (told.get("views") or {}).get("view") or []
        yield from found
        if len(found) < _VIEWS:
            return


def _workbooks(rest: Rest, warnings: dict[str, None]) -> Iterator[dict[str, Any]]:
    after = None
    for _ in range(_MOST // _PAGE):
        told = _ask(rest, _PAGE, after)
        if refused := _refused(told):
            warnings[f"not all was shown to this user: {refused}"] = None
        connection = _connection(told)
        yield from connection.get("nodes") or []
        page = connection.get("pageInfo") or {}
        after = page.get("endCursor")
        if not page.get("hasNextPage") or after is None:
            return


def _ask(rest: Rest, first: int, after: str | None) -> Mapping[str, Any]:
    told: Mapping[str, Any] = rest.post(
        "/api/metadata/graphql", {"query": _WORKBOOKS, "variables": {"first": first, "after": after}}
    )
    if not (told.get("data") or {}).get("workbooksConnection"):
        raise InvalidQuestion(f"Tableau's Metadata API refuses the question: {_refused(told) or 'it answers no data'}")
    return told


def _connection(told: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = told["data"]["workbooksConnection"]
    return found


def _refused(told: Mapping[str, Any]) -> str:
    return "; ".join(str(one.get("message"))[:200] for one in (told.get("errors") or [])[:3])


def _tables(book: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for sheet in book.get("sheets") or []:
        yield from sheet.get("upstreamTables") or []


def _database(told: Mapping[str, Any]) -> str:
    return str((told.get("database") or {}).get("name") or "")


def _id(one: Mapping[str, Any]) -> str:
    """Return the id that the REST API and comments in queries use; hidden sheets have the Metadata API's alone."""
    return str(one.get("luid") or one["id"])


def _sign_in(rest: Rest, settings: Mapping[str, str]) -> str:
    """Sign in, and return the site's id."""
    credentials = {
        "personalAccessTokenName": settings["token_name"],
        "personalAccessTokenSecret": settings.get("token", ""),
        "site": {"contentUrl": settings.get("site", "")},
    }
    told = rest.post(f"/api/{settings['version']}/auth/signin", {"credentials": credentials})["credentials"]
    rest.headers["X-Tableau-Auth"] = str(told["token"])
    return str(told["site"]["id"])
