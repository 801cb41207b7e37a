"""Inputs of columns that are no tables: a producer's parser may take the name of a WITH clause for one. Pure.

OpenLineage's parser does so where the clause selects `*`: dbt-ol and Airflow name `source` as a dataset then. Our engine reads the same text; if
it finds the name defined there, and no table of that name read, the fields that rest on it are left to it.
"""

import re
from collections.abc import Collection

import msgspec

from headwater.columns.tables import tables_of
from headwater.intake.events.facets import FacetDecoder, decode_or_none
from headwater.model.event import Event
from headwater.model.names import DatasetName, JobName
from headwater.model.sql_platform import dialect_of

_LONGEST = 100_000


class _Sql(msgspec.Struct):
    query: str
    dialect: str | None = None


_sql = msgspec.json.Decoder(_Sql)


def find_with_clauses(
    event: Event, sources: Collection[DatasetName | JobName], decoder: FacetDecoder
) -> frozenset[DatasetName]:
    """Return those of a columnLineage facet's sources that the event does not list, and that are names of WITH clauses in its SQL."""
    sql: _Sql | None = decode_or_none(_sql.decode, event.job_facets.get("sql"))
    if sql is None or len(sql.query) > _LONGEST:
        return frozenset()
    listed = {report.name for report in (*event.inputs, *event.outputs)}
    defined = {
        source
        for source in sources
        if isinstance(source, DatasetName) and source not in listed and _defines(sql.query, _last_part(source))
    }
    if not defined:
        return frozenset()
    body = bytes(event.job_facets["sql"])
    dialect = sql.dialect or dialect_of(next(iter(defined)).namespace)
    read: frozenset[str] = decoder.cache(
        ("tables read", dialect), body, lambda _: frozenset(t[-1].lower() for t in tables_of(sql.query, dialect).reads)
    )
    return frozenset(source for source in defined if _last_part(source).lower() not in read)


def _last_part(name: DatasetName) -> str:
    return name.name.rpartition(".")[2]


def _defines(query: str, name: str) -> bool:
    quoted = rf'["`\[]?{re.escape(name)}["`\]]?'
    begun = rf"(?:\bwith\b(?:\s+recursive)?|,)\s*{quoted}\s*(?:\([^()]*\)\s*)?as\s*(?:(?:not\s+)?materialized\s*)?\("
    return re.search(begun, query, re.IGNORECASE) is not None
