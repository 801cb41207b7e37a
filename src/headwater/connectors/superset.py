"""Superset's REST API: charts and dashboards, the tables that they read, and when a person last opened a dashboard."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from headwater.connectors import Send
from headwater.connectors.bi import DIALECTS, Placed, asset, namespaces_of, table_name, tables_of_sql, usage
from headwater.connectors.changed import Changes
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, NotFound
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.moments import aware
from headwater.model.names import DatasetName

TOOL: Final = "superset"
_PAGE: Final = 100
_MOST: Final = 50_000
_MOST_VIEWS: Final = 5_000


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    with Rest(task.settings["address"]) as rest:
        _sign_in(rest, task.settings)
        yield ConnectorCheck("connect", "ok", f"Superset, as {task.settings['user']}")
        for what in ("dataset", "chart", "dashboard"):
            found = rest.get(f"/api/v1/{what}/", {"q": "(page:0,page_size:1)"})
            yield ConnectorCheck(what, "ok", f"{int(found.get('count') or 0):,} {what}s can be read")
        try:
            rest.get("/api/v1/log/", {"q": "(page:0,page_size:1)"})
            yield ConnectorCheck("log", "ok", "who opened a dashboard can be read")
        except (Forbidden, NotFound):
            yield ConnectorCheck(
                "log",
                "missing",
                "who opened a dashboard is not shown to this user",
                "give its role the permission can read on Log",
            )
        known = namespaces_of(task.settings["namespaces"])
        for name in sorted({_database(row) for row in _rows(rest, "dataset")} - known.keys()):
            yield ConnectorCheck(
                "databases", "missing", f"where the database {name!r} is, is not known, so its tables are not seen",
                f"--namespaces '{name}=postgres://HOST:5432'",
            )  # fmt: skip


def pull(task: ConnectorTask, send: Send) -> PullReport:
    with Rest(task.settings["address"]) as rest:
        _sign_in(rest, task.settings)
        return _pull(rest, task, send)


def _pull(rest: Rest, task: ConnectorTask, send: Send) -> PullReport:
    before, now = task.cursor or {}, dt.datetime.now(dt.UTC)
    url = task.settings["address"].rstrip("/")
    namespaces = namespaces_of(task.settings["namespaces"])
    warnings: list[str] = []
    datasets = {int(row["id"]): row for row in _rows(rest, "dataset")}
    reads = {id_: _tables(row, namespaces) for id_, row in datasets.items()}
    for name in sorted({_database(row) for row in datasets.values()} - namespaces.keys()):
        warnings.append(f"where the database {name!r} is, is not known: its tables are not seen")
    looked = _looked(rest, before.get("looked") or {}, warnings)
    changes, rows = Changes(before.get("assets")), len(datasets)
    shown: dict[int, list[DatasetName]] = {}
    for chart in _rows(rest, "chart"):
        rows += 1
        name, source = f"chart/{chart['id']}", int(chart.get("datasource_id") or 0)
        for board in chart.get("dashboards") or []:
            shown.setdefault(int(board["id"]), []).append(DatasetName(TOOL, name))
        tables, sql = reads.get(source, []), (datasets.get(source) or {}).get("sql")
        if changes.is_new(name, [chart.get("slice_name"), chart.get("description"), tables, sql, _place(chart)]):
            send(
                asset(
                    TOOL,
                    name,
                    str(chart.get("slice_name") or name),
                    tables,
                    now,
                    url=f"{url}{chart.get('url') or ''}",
                    sql=sql,
                    description=chart.get("description"),
                    place=_place(chart),
                )
            )
    for board in _rows(rest, "dashboard"):
        rows += 1
        id_ = int(board["id"])
        name, charts, last = f"dashboard/{id_}", shown.get(id_, []), looked.get(str(id_))
        at = dt.datetime.fromisoformat(last) if last else None
        if changes.is_new(name, [board.get("dashboard_title"), charts, last, _place(board)]):
            told = usage(None, at, now) if looked else None
            send(
                asset(
                    TOOL,
                    name,
                    str(board.get("dashboard_title") or name),
                    charts,
                    now,
                    url=f"{url}{board.get('url') or ''}",
                    usage=told,
                    place=_place(board),
                )
            )
    newest = max((dt.datetime.fromisoformat(one) for one in looked.values()), default=None)
    return PullReport(rows, {"assets": changes.digests, "looked": looked}, newest, tuple(warnings))


def _place(row: Mapping[str, Any]) -> Placed:
    """Return the first owner of a chart or dashboard; Superset has no folders."""
    owners = row.get("owners") or [{}]
    return Placed(" ".join(filter(None, (owners[0].get("first_name"), owners[0].get("last_name")))) or None)


def _tables(row: Mapping[str, Any], namespaces: Mapping[str, str]) -> list[DatasetName]:
    """Return the tables of a dataset of Superset: its own, or those that its query reads."""
    namespace = namespaces.get(_database(row))
    if namespace is None:
        return []
    dialect = DIALECTS.get(namespace.partition(":")[0], "")
    catalog = row.get("catalog")
    if row.get("kind") == "virtual" and row.get("sql"):
        return tables_of_sql(str(row["sql"]), dialect, namespace, catalog)
    return [table_name((catalog, row.get("schema"), str(row["table_name"])), dialect, namespace)]


def _looked(rest: Rest, before: Mapping[str, str], warnings: list[str]) -> dict[str, str]:
    """Return when each dashboard was last opened, from the newest entries of the log back to the newest one that was read before."""
    looked, known = dict(before), max(before.values(), default="")
    try:
        for number, row in enumerate(_rows(rest, "log", "order_column:dttm,order_direction:desc")):
            at = str(row.get("dttm") or "")
            if number >= _MOST_VIEWS or (at and _utc(at) <= known):
                break
            if row.get("dashboard_id") and at:
                id_ = str(row["dashboard_id"])
                looked[id_] = max(looked.get(id_, ""), _utc(at))
    except (Forbidden, NotFound) as error:
        warnings.append(f"who opened a dashboard was not read: {error.message[:200]}")
    return looked


def _utc(text: str) -> str:
    return aware(dt.datetime.fromisoformat(text)).astimezone(dt.UTC).isoformat()


def _database(row: Mapping[str, Any]) -> str:
    return str((row.get("database") or {}).get("database_name") or "")


def _rows(rest: Rest, what: str, order: str = "") -> Iterator[dict[str, Any]]:
    for page in range(_MOST // _PAGE):
        asked = ",".join(filter(None, (f"page:{page},page_size:{_PAGE}", order)))
        found = rest.get(f"/api/v1/{what}/", {"q": f"({asked})"}).get("result") or []
        yield from found
        if len(found) < _PAGE:
            return


def _sign_in(rest: Rest, settings: Mapping[str, str]) -> None:
    body = {
        "username": settings["user"],
        "password": settings.get("password", ""),
        "provider": settings["provider"],
        "refresh": False,
    }
    rest.headers["Authorization"] = f"Bearer {rest.post('/api/v1/security/login', body)['access_token']}"
