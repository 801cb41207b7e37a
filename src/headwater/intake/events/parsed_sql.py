"""The tables of a job that reports SQL and no dataset: Airflow's operators and the statements below them do so (docs/decisions/052). Pure.

A table has an edge only if its full name is known: by the connection that ran the statement, the identity rules and the text. A name that lacks its
database could be any table, so it has none.
"""

import datetime as dt
import uuid
from collections.abc import Callable

import msgspec

from headwater.intake.events.facets import FacetDecoder, decode_or_none, is_deleted
from headwater.model import version
from headwater.model.event import Event
from headwater.model.names import DatasetName, is_path, normalised
from headwater.model.sql_platform import dialect_of, name_parts
from headwater.store.events.rows import AnyRow, ForeignEdgeRow

# The reporter of these edges, which marks them.
_REPORTER = uuid.UUID(int=0)
# A text beyond this is a dump of data, and would keep others waiting.
_LONGEST = 100_000
# Schemas that describe the database itself.
_SYSTEM = frozenset({"information_schema", "pg_catalog", "sys"})
# On jobs of the query log, whose SQL was read with more knowledge of the warehouse.
_QUERY_LOG = "headwater_queries"


class _Sql(msgspec.Struct):
    query: str
    dialect: str | None = None


class _ExternalQuery(msgspec.Struct):
    source: str


class _JobType(msgspec.Struct):
    integration: str = ""


_job_type = msgspec.json.Decoder(_JobType)
_sql = msgspec.json.Decoder(_Sql)
_external_query = msgspec.json.Decoder(_ExternalQuery)


def add_parsed_edges(
    event: Event,
    decoder: FacetDecoder,
    add: Callable[[AnyRow], None],
    add_dataset: Callable[[DatasetName], uuid.UUID],
    at: dt.datetime,
) -> None:
    """Add edges of the tables that an event's SQL touches."""
    if event.job is None:
        return
    job = version.job_id(event.job)
    for direction, name in parsed_tables(event, decoder):
        add(ForeignEdgeRow(add_dataset(name), job, direction, _REPORTER, at, event.kind == "job"))


def parsed_tables(event: Event, decoder: FacetDecoder) -> list[tuple[str, DatasetName]]:
    """Return (direction, name) of each table that the SQL of a complete run, or of a declared job, touches.

    Empty where the event names a dataset itself, where nothing says which system ran the statement, and for dbt, whose jobs above report datasets.
    """
    body = event.job_facets.get("sql")
    silent = not (event.inputs or event.outputs or "lineage" in event.job_facets or _QUERY_LOG in event.job_facets)
    done = (event.kind == "job" or event.event_type == "COMPLETE") and _integration(event) != "DBT"
    namespace = _namespace(event) if body is not None and silent and done else None
    if body is None or namespace is None or is_deleted(bytes(body)):
        return []
    sql = decode_or_none(_sql.decode, body)
    if sql is None or len(sql.query) > _LONGEST:
        return []
    found: list[tuple[str, DatasetName]] = decoder.cache(
        f"sql {namespace}", bytes(body), lambda _: _tables(sql, namespace, decoder)
    )
    return found


def _integration(event: Event) -> str | None:
    decoded = decode_or_none(_job_type.decode, event.job_facets.get("jobType"))
    return None if decoded is None else decoded.integration.upper()


def _namespace(event: Event) -> str | None:
    """Return the namespace of the system that ran the statement: by the query's facet, else that of a job named after its warehouse."""
    query = decode_or_none(_external_query.decode, event.run_facets.get("externalQuery"))
    named = [query.source] if query is not None else []
    if event.job is not None:
        named.append(event.job.namespace)
    spelled = (normalised(name, "").namespace for name in named)
    return next((name for name in spelled if name_parts(name) is not None), None)


def _tables(sql: _Sql, namespace: str, decoder: FacetDecoder) -> list[tuple[str, DatasetName]]:
    # The SQL engine is heavy, and most logs have no such event.
    from headwater.columns.openlineage import names
    from headwater.columns.tables import tables_of

    dialect = sql.dialect or dialect_of(namespace)
    tables = tables_of(sql.query, dialect)
    found: dict[tuple[str, DatasetName], None] = {}
    for direction, some in (("in", tables.reads), ("out", tables.writes)):
        for table in some:
            if not _SYSTEM.isdisjoint(part.lower() for part in table[:-1]) or table[-1].startswith(("@", "#")):
                continue
            name = names(table, dialect_of(namespace), namespace)
            if _is_whole(decoder.identity.place(name).name):
                found[direction, name] = None
    return list(found)


def _is_whole(name: DatasetName) -> bool:
    parts = name_parts(name.namespace)
    return is_path(name.namespace) or (parts is not None and name.name.count(".") + 1 >= parts)
