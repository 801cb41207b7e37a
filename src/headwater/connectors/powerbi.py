"""Power BI's admin API: dashboards, reports and semantic models with the columns behind their fields, owners and workspaces.

A scan of workspaces has the tables of each semantic model with their Power Query and DAX, and not the fields that a visual of a report shows
(https://learn.microsoft.com/rest/api/power-bi/admin/workspace-info-get-scan-result). So a report reads all of its model, by column.
"""

import datetime as dt
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from headwater.connectors import Send
from headwater.connectors.bi import DIALECTS, Placed, asset, namespaces_of, table_name, tables_of_sql
from headwater.connectors.changed import Changes
from headwater.connectors.rest import Rest
from headwater.errors import Forbidden, NotFound, ServerUnavailable
from headwater.model.connector_reports import ConnectorCheck, ConnectorTask, PullReport
from headwater.model.names import DatasetName

TOOL: Final = "powerbi"
_ADMIN: Final = "/v1.0/myorg/admin/workspaces"
_WORKSPACES: Final = 100
_SCAN: Final = "lineage=True&datasourceDetails=True&datasetSchema=True&datasetExpressions=True&getArtifactUsers=True"
_LOOKS: Final = 60
_PAUSE: Final = 1.0
_TEXT: Final = r'"((?:[^"]|"")*)"'
_DATABASE: Final = re.compile(rf"\w+\.Databases?\(\s*{_TEXT}\s*,\s*{_TEXT}")
_STEP: Final = re.compile(r"\{\s*\[([^\]]*)\]\s*\}")
_KEY: Final = re.compile(rf"(\w+)\s*=\s*{_TEXT}")
_RENAMES: Final = re.compile(r"Table\.RenameColumns\(")
_PAIR: Final = re.compile(rf"\{{\s*{_TEXT}\s*,\s*{_TEXT}\s*\}}")
_QUERY: Final = re.compile(rf"(?:Value\.NativeQuery\(.*?,\s*|\bQuery\s*=\s*){_TEXT}", re.DOTALL)
_FIELD: Final = re.compile(r"(?:'((?:[^']|'')+)'|\b([A-Za-z_]\w*))?\[([^\]\[]+)\]")
Columns = dict[str, list[tuple[DatasetName, str]]]


class Source(msgspec.Struct, frozen=True):
    """The tables that a table's Power Query reads. `renamed`: a column's name in the model -> that of the table. `single`: it is one table, column by
    column."""

    tables: tuple[DatasetName, ...]
    renamed: dict[str, str]
    single: bool


def test(task: ConnectorTask) -> Iterator[ConnectorCheck]:
    with _signed_in(task.settings) as rest:
        try:
            found = _workspaces(rest)
        except (Forbidden, NotFound) as error:
            yield ConnectorCheck(
                "workspaces", "failed", f"the admin API refuses: {error.message[:200]}",
                "add the application's group to `Allow service principals to use read-only admin APIs` in the admin portal",
            )  # fmt: skip
            return
        yield ConnectorCheck("connect", "ok", f"Power BI, with {len(found):,} workspaces")
        scanned = _scan(rest, found[:_WORKSPACES]) if found else {}
        models = [model for space in scanned.get("workspaces") or [] for model in space.get("datasets") or []]
        if any(model.get("tables") for model in models) or not models:
            yield ConnectorCheck("schema", "ok", "tables and columns of semantic models can be read")
        else:
            yield ConnectorCheck(
                "schema", "missing", "tables of semantic models are not in the scan",
                "turn on `Enhance admin APIs responses with detailed metadata` and `… with DAX and mashup expressions`",
            )  # fmt: skip
        warnings: dict[str, None] = {}
        known = namespaces_of(task.settings["namespaces"])
        for model in models:
            for table in model.get("tables") or []:
                _source(table, known, warnings)
        for text in warnings:
            yield ConnectorCheck("databases", "missing", text, "--namespaces 'DATABASE=postgres://HOST:5432'")


def pull(task: ConnectorTask, send: Send) -> PullReport:
    before, now = task.cursor or {}, dt.datetime.now(dt.UTC)
    namespaces = namespaces_of(task.settings["namespaces"])
    changes, warnings, rows = Changes(before.get("assets")), dict[str, None](), 0
    with _signed_in(task.settings) as rest:
        ids = _workspaces(rest)
        for start in range(0, len(ids), _WORKSPACES):
            for space in _scan(rest, ids[start : start + _WORKSPACES]).get("workspaces") or []:
                for one in _assets(space, namespaces, warnings):
                    rows += 1
                    content = [one.title, one.description, one.reads, one.place, sorted(one.columns.items())]
                    if changes.is_new(one.name, content):
                        send(
                            asset(
                                TOOL, one.name, one.title, one.reads, now,
                                description=one.description, place=one.place, columns=one.columns,
                            )
                        )  # fmt: skip
    return PullReport(rows, {"assets": changes.digests}, now, tuple(warnings))


class _Asset(msgspec.Struct, frozen=True):
    """A semantic model, a report or a dashboard. `columns`: those behind each of its fields; a dashboard has none."""

    name: str
    title: str
    reads: list[DatasetName]
    place: Placed
    columns: Columns
    description: str | None


def _assets(space: Mapping[str, Any], namespaces: Mapping[str, str], warnings: dict[str, None]) -> Iterator[_Asset]:
    """Yield the semantic models, reports and dashboards of a workspace."""
    folder = space.get("name")
    fields: dict[str, Columns] = {}
    names: dict[str, str] = {}
    for model in space.get("datasets") or []:
        reads, columns = _read_model(model, namespaces, warnings)
        mine = _model_name(model["id"])
        fields[model["id"]] = {field: [(mine, field)] for field in columns}
        place = _place(model, folder, "dataset")
        yield _Asset(mine.name, model["name"], reads, place, columns, model.get("description"))
    for report in space.get("reports") or []:
        model = report.get("datasetId")
        read = [_model_name(model)] if model else []
        name = names[report["id"]] = f"{read[0].name}/report/{report['id']}" if read else f"report/{report['id']}"
        place, words = _place(report, folder, "report"), report.get("description")
        yield _Asset(name, report["name"], read, place, fields.get(model or "", {}), words)
    for board in space.get("dashboards") or []:
        reads = [
            DatasetName(TOOL, names.get(tile["reportId"], f"report/{tile['reportId']}"))
            if tile.get("reportId")
            else _model_name(tile["datasetId"])
            for tile in board.get("tiles") or []
            if tile.get("reportId") or tile.get("datasetId")
        ]  # fmt: skip
        title = board.get("displayName") or board["id"]
        place = _place(board, folder, "dashboard")
        yield _Asset(f"dashboard/{board['id']}", title, list(dict.fromkeys(reads)), place, {}, None)


def _model_name(model: str) -> DatasetName:
    """Return the name that the query log's reader gives a semantic model, which the API calls a dataset."""
    return DatasetName(TOOL, f"dataset/{model}")


def _place(one: Mapping[str, Any], folder: str | None, kind: str) -> Placed:
    right = f"{kind}UserAccessRight"
    owners = [
        user for user in one.get("users") or [] if str(user.get(right, "")).startswith(("Owner", "ReadWriteReshare"))
    ]
    mails = [user.get("emailAddress") or user.get("displayName") for user in owners]
    return Placed(one.get("configuredBy") or one.get("createdBy") or next(filter(None, mails), None), folder)


def _read_model(
    model: Mapping[str, Any], namespaces: Mapping[str, str], warnings: dict[str, None]
) -> tuple[list[DatasetName], Columns]:
    """Return the tables that a semantic model reads, and the columns behind each column (`Orders[amount]`) and measure (`Orders[Total]`)."""
    reads: dict[DatasetName, None] = {}
    columns: Columns = {}
    formulas: dict[str, tuple[str, str]] = {}
    for table in model.get("tables") or []:
        source = _source(table, namespaces, warnings)
        reads.update(dict.fromkeys(source.tables))
        for column in table.get("columns") or []:
            field = f"{table['name']}[{column['name']}]"
            if column.get("expression"):
                formulas[field] = (table["name"], column["expression"])
            else:
                behind = source.renamed.get(column["name"], column["name"])
                columns[field] = [(source.tables[0], behind)] if source.single else []
        for measure in table.get("measures") or []:
            formulas[f"{table['name']}[{measure['name']}]"] = (table["name"], measure.get("expression") or "")
    given = dict(columns)
    columns |= {field: list(dict.fromkeys(_behind(field, given, formulas, set()))) for field in formulas}
    return list(reads), columns


def _behind(
    field: str, columns: Columns, formulas: Mapping[str, tuple[str, str]], met: set[str]
) -> Iterator[tuple[DatasetName, str]]:
    """Yield the columns of tables that a field of DAX is made of, each field once. A field without a table is of its own table, else a measure of
    any. `met`: the fields that were followed."""
    met.add(field)
    yield from columns.get(field, ())
    table, expression = formulas.get(field, ("", ""))
    for quoted, plain, name in _FIELD.findall(expression):
        other = f"{quoted.replace(chr(39) * 2, chr(39)) or plain or table}[{name}]"
        if other not in columns and other not in formulas and not (quoted or plain):
            other = next((one for one in formulas if one.endswith(f"[{name}]")), other)
        if other not in met:
            yield from _behind(other, columns, formulas, met)


def _source(table: Mapping[str, Any], namespaces: Mapping[str, str], warnings: dict[str, None]) -> Source:
    text = "\n".join(one.get("expression") or "" for one in table.get("source") or [])
    keys = [dict(_KEY.findall(step)) for step in _STEP.findall(text)]
    kinds = {key.get("Kind"): key.get("Name") for key in keys}
    found = _DATABASE.search(text)
    # Snowflake and Databricks name the database in a step, its second argument is the warehouse.
    database = kinds.get("Database") or (found[2] if found else None)
    if not database:
        return Source((), {}, single=False)
    namespace = namespaces.get(database)
    if namespace is None:
        warnings[f"where the database {database!r} is, is not known: its tables are not seen"] = None
        return Source((), {}, single=False)
    dialect = DIALECTS.get(namespace.partition(":")[0], "")
    if query := _QUERY.search(text):
        sql = query[1].replace('""', '"').replace("#(lf)", "\n")
        return Source(tuple(tables_of_sql(sql, dialect, namespace, database)), {}, single=False)
    schema = kinds.get("Schema")
    items = [
        (key.get("Schema") or schema, key.get("Item") or key.get("Name"))
        for key in keys
        if "Item" in key or key.get("Kind") in {"Table", "View"}
    ]
    tables = [table_name((database, *item), dialect, namespace) for item in items]
    renamed = {new: old for old, new in _PAIR.findall(text)} if _RENAMES.search(text) else {}
    return Source(tuple(dict.fromkeys(tables)), renamed, single=len(tables) == 1)


def _workspaces(rest: Rest) -> list[str]:
    return [one["id"] for one in rest.get(f"{_ADMIN}/modified", {"excludePersonalWorkspaces": "True"}) or []]


def _scan(rest: Rest, ids: list[str]) -> dict[str, Any]:
    """Return the scan of at most 100 workspaces. Raises ServerUnavailable if it does not end within a minute."""
    scan = rest.post(f"{_ADMIN}/getInfo?{_SCAN}", {"workspaces": ids})["id"]
    for _ in range(_LOOKS):
        if rest.get(f"{_ADMIN}/scanStatus/{scan}").get("status") == "Succeeded":
            return dict(rest.get(f"{_ADMIN}/scanResult/{scan}"))
        time.sleep(_PAUSE)
    raise ServerUnavailable(f"the scan {scan} of {len(ids)} workspaces did not end within a minute; try again later")


def _signed_in(settings: Mapping[str, str]) -> Rest:
    with Rest(settings["login"]) as login:
        answer = login.form(
            f"/{settings['tenant']}/oauth2/v2.0/token",
            {
                "grant_type": "client_credentials",
                "client_id": settings["client_id"],
                "client_secret": settings.get("client_secret", ""),
                "scope": "https://analysis.windows.net/powerbi/api/.default",
            },
        )
    return Rest(settings["address"], {"Authorization": f"Bearer {answer['access_token']}"})
