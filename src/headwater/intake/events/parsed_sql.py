"""Edges of tables that only a job's SQL names (docs/decisions/052). Pure.

Airflow's operators, and the statements below them, report SQL and no dataset. dbt reports what a model writes and in part what it reads: seeds,
snapshots and what lies behind an ephemeral model are in its text alone.

A table has an edge only if its full name is known: by the connection that ran the statement, the identity rules and the text. A name that lacks its
database could be any table, so it has none; the receipt names it.
"""

import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from headwater.intake.events.facets import FacetDecoder, decode_or_none, is_deleted
from headwater.model import version
from headwater.model.event import Event
from headwater.model.facets import parent
from headwater.model.names import DatasetName, is_path, normalised
from headwater.model.sql_platform import dialect_of, name_parts
from headwater.store.events.rows import AnyRow, ForeignEdgeRow, ReportStatementRow

# The reporters of these edges, which mark them: of a job that reports no dataset, and of one that leaves inputs out.
_ALONE, BESIDE = uuid.UUID(int=0), uuid.UUID(int=1)
# A text beyond this is a dump of data, and would keep others waiting.
_LONGEST = 100_000
# Schemas that describe the database itself.
_SYSTEM = frozenset({"information_schema", "pg_catalog", "sys"})
# On jobs of the query log, whose SQL was read with more knowledge of the warehouse.
_QUERY_LOG = "headwater_queries"
# Jobs of dbt whose `sql` facet is the model's query, in which each relation has its full name.
_DBT_QUERIES = frozenset({"MODEL", "SNAPSHOT"})
_MOST_NAMED = 5
# The beginnings of the names of jobs that make a relation, in dbt's structured logs.
_DBT_MODELS = ("model.", "snapshot.")
# A statement that reads no table needs no row: BEGIN, ALTER, DROP.
_READING = re.compile(rb"\b(?:from|join|using)\b", re.IGNORECASE)
_MAKING = re.compile(r"__dbt_(?:tmp|backup|new)\w*$", re.IGNORECASE)


class _Sql(msgspec.Struct):
    query: str
    dialect: str | None = None


class _ExternalQuery(msgspec.Struct):
    source: str


class _JobType(msgspec.Struct, rename="camel"):
    integration: str = ""
    job_type: str = ""


class Tables(NamedTuple):
    """`edges`: (direction, name) of each table. `partial`: names that lack a part. `too_long`: the characters of a text that was not read."""

    edges: list[tuple[str, DatasetName]]
    partial: list[str]
    too_long: int | None = None


_job_type = msgspec.json.Decoder(_JobType)
_sql = msgspec.json.Decoder(_Sql)
_external_query = msgspec.json.Decoder(_ExternalQuery)


def add_parsed_edges(
    event: Event,
    decoder: FacetDecoder,
    add: Callable[[AnyRow], None],
    add_dataset: Callable[[DatasetName], uuid.UUID],
    warn: Callable[[str, str, str], None],
    at: dt.datetime,
) -> None:
    """Add edges of the tables that an event's SQL touches, and warn of those that have none."""
    body = event.job_facets.get("sql")
    if event.job is None or body is None or is_deleted(bytes(body)):
        return
    if event.kind != "job" and event.event_type != "COMPLETE":
        return
    job, kind = version.job_id(event.job), _job_kind(event)
    if kind.integration.upper() == "DBT":
        for name in _left_out_inputs(event, kind, decoder):
            add(ForeignEdgeRow(add_dataset(name), job, "in", BESIDE, at, event.kind == "job"))
        if kind.job_type.upper() == "SQL":
            _add_reads_of_model(event, decoder, add, add_dataset, at)
        return
    if event.inputs or event.outputs or "lineage" in event.job_facets or _QUERY_LOG in event.job_facets:
        return
    namespace = _namespace(event)
    if namespace is None:
        return
    tables = _read_tables(bytes(body), namespace, decoder)
    for direction, name in tables.edges:
        add(ForeignEdgeRow(add_dataset(name), job, direction, _ALONE, at, event.kind == "job"))
    where = "job.facets.sql"
    if tables.too_long is not None:
        warn(
            "sql_too_long",
            where,
            f"{where}: {tables.too_long:,} characters; no table is read from texts over {_LONGEST:,}",
        )
    if tables.partial:
        named = ", ".join(tables.partial[:_MOST_NAMED]) + ", …" * (len(tables.partial) > _MOST_NAMED)
        warn("table_without_database", where, f"{where}: {named}: a table has an edge only under its full name")


def _add_reads_of_model(
    event: Event,
    decoder: FacetDecoder,
    add: Callable[[AnyRow], None],
    add_dataset: Callable[[DatasetName], uuid.UUID],
    at: dt.datetime,
) -> None:
    """Add to the model above one of dbt's statements the tables that the statement reads: behind an ephemeral model, it alone names them.

    A statement has the namespace of its warehouse where that gives it an id of its own. Without one, no table is known by its full name
    until the model's run reports its output (`intake.events.statements`).
    """
    above = decode_or_none(parent, event.run_facets.get("parent"))
    if above is None or not is_dbt_model(above[0].job.name):
        return
    body, model = bytes(event.job_facets["sql"]), version.job_id(above[0].job)
    namespace = _namespace(event)
    if namespace is not None:
        for name in read_beside(body, namespace, (), decoder):
            add(ForeignEdgeRow(add_dataset(name), model, "in", BESIDE, at, False))
    elif _READING.search(body):
        add(ReportStatementRow(model, version.run_id(above[0].run_id)[0], decoder.content(body)[0], at))


def is_dbt_model(job: str) -> bool:
    """Return whether a job of this name makes a relation, by the names of dbt's structured logs."""
    return job.startswith(_DBT_MODELS)


def read_beside(
    body: bytes, namespace: str, outputs: Iterable[DatasetName], decoder: FacetDecoder
) -> list[DatasetName]:
    """Return the tables that a statement of a dbt model reads, without those that it or its model writes. `body`: its `sql` facet."""
    tables = _read_tables(body, namespace, decoder).edges
    written = {_without_suffix(name) for direction, name in tables if direction == "out"}
    written.update(outputs)
    return [name for direction, name in tables if direction == "in" and _without_suffix(name) not in written]


def _without_suffix(name: DatasetName) -> DatasetName:
    """Return the relation that dbt makes under another name first: `orders__dbt_tmp`."""
    return DatasetName(name.namespace, _MAKING.sub("", name.name))


def _left_out_inputs(event: Event, kind: _JobType, decoder: FacetDecoder) -> list[DatasetName]:
    """Return the tables that a dbt model's text reads and its event does not list."""
    if kind.job_type.upper() not in _DBT_QUERIES or not event.outputs:
        return []
    namespace = next((one.name.namespace for one in event.outputs if name_parts(one.name.namespace) is not None), None)
    if namespace is None:
        return []
    listed = {decoder.identity.place(one.name).name.name.lower() for one in (*event.inputs, *event.outputs)}
    body = bytes(event.job_facets["sql"])
    read = [name for direction, name in _read_tables(body, namespace, decoder).edges if direction == "in"]
    left_out = [name for name in read if decoder.identity.place(name).name.name.lower() not in listed]
    return [DatasetName(name.namespace, _spelling(name.name, body)) for name in left_out]


def _spelling(name: str, body: bytes) -> str:
    """Return a table's name as the text spells it: dbt names its datasets so, and a dialect may fold the name of an unquoted table."""
    between = r'["`\]\\]*\.["`\[\\]*'
    found = re.search(between.join(f"({re.escape(part)})" for part in name.split(".")), body.decode(), re.IGNORECASE)
    return ".".join(found.groups()) if found else name


def _job_kind(event: Event) -> _JobType:
    decoded: _JobType | None = decode_or_none(_job_type.decode, event.job_facets.get("jobType"))
    return decoded or _JobType()


def _namespace(event: Event) -> str | None:
    """Return the namespace of the system that ran the statement: by the query's facet, else that of a job named after its warehouse."""
    query = decode_or_none(_external_query.decode, event.run_facets.get("externalQuery"))
    named = [query.source] if query is not None else []
    if event.job is not None:
        named.append(event.job.namespace)
    spelled = (normalised(name, "").namespace for name in named)
    return next((name for name in spelled if name_parts(name) is not None), None)


def _read_tables(body: bytes, namespace: str, decoder: FacetDecoder) -> Tables:
    found: Tables = decoder.cache(f"sql {namespace}", body, lambda _: _tables(body, namespace, decoder))
    return found


def _tables(body: bytes, namespace: str, decoder: FacetDecoder) -> Tables:
    try:
        sql = _sql.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Tables([], [])
    if len(sql.query) > _LONGEST:
        return Tables([], [], len(sql.query))
    # The SQL engine is heavy, and most logs have no such event.
    from headwater.columns.openlineage import names
    from headwater.columns.tables import tables_of

    tables = tables_of(sql.query, sql.dialect or dialect_of(namespace))
    found: dict[tuple[str, DatasetName], None] = {}
    partial: dict[str, None] = {}
    for direction, some in (("in", tables.reads), ("out", tables.writes)):
        for table in some:
            if not _SYSTEM.isdisjoint(part.lower() for part in table[:-1]) or table[-1].startswith(("@", "#")):
                continue
            name = names(table, dialect_of(namespace), namespace)
            if _is_whole(decoder.identity.place(name).name):
                found[direction, name] = None
            else:
                partial[".".join(table)] = None
    return Tables(list(found), list(partial))


def _is_whole(name: DatasetName) -> bool:
    parts = name_parts(name.namespace)
    return is_path(name.namespace) or (parts is not None and name.name.count(".") + 1 >= parts)
