"""The parts that BI tools share: a chart or question is a dataset of the tool, made by a job that reads tables; a dashboard reads its charts.

Names are those that the query log's reader gives assets (`dashboard/5`, `card/12`), so that both speak of one thing. When a person last looked, where
the tool knows it, is the dataset's usage.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from headwater.client import event
from headwater.columns import Session
from headwater.columns.openlineage import names
from headwater.errors import InvalidQuestion
from headwater.model.measured import USAGE
from headwater.model.names import DatasetName
from headwater.pipeline.query_log.reading import understood

_ACTIVE: Final = dt.timedelta(days=90)
_LONGEST_SQL: Final = 65_536
# The schema of a name without one: these products' default.
_SCHEMAS: Final = {"postgres": "public", "redshift": "public"}
DIALECTS: Final = {
    "postgres": "postgres", "postgresql": "postgres", "redshift": "redshift", "snowflake": "snowflake",
    "bigquery": "bigquery", "bigquery-cloud-sdk": "bigquery", "databricks": "databricks", "trino": "trino",
    "starburst": "trino", "presto": "presto", "mysql": "mysql", "mssql": "tsql", "sqlserver": "tsql", "sparksql": "spark",
}  # fmt: skip


def namespaces_of(text: str) -> dict[str, str]:
    """Read `NAME=NAMESPACE, …`: the namespace of the tables of each database of a tool. Raises InvalidQuestion."""
    found = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, mark, namespace = part.partition("=")
        if not mark or not name.strip() or not namespace.strip():
            raise InvalidQuestion(
                f"{part[:100]!r} is not NAME=NAMESPACE; write warehouse=postgres://db:5432", field="namespaces"
            )
        found[name.strip()] = namespace.strip()
    return found


def tables_of_sql(sql: str, dialect: str, namespace: str, database: str | None) -> list[DatasetName]:
    """Return the tables that a query reads. `database`: for names without one."""
    session = Session(database or "", _SCHEMAS.get(dialect, ""))
    found = understood(sql[:_LONGEST_SQL], dialect, namespace, session)
    return [DatasetName(space, name) for space, name in found.reads]


def table_name(parts: Sequence[str | None], dialect: str, namespace: str) -> DatasetName:
    return names(tuple(part for part in parts if part), dialect, namespace)


class Placed(msgspec.Struct, frozen=True):
    """The owner of an asset, by mail address or name, and the folder or project that holds it."""

    owner: str | None = None
    folder: str | None = None


_NOWHERE: Final = Placed()


def asset(
    tool: str, name: str, title: str, reads: Iterable[DatasetName], at: dt.datetime, *,
    url: str | None = None, sql: str | None = None, description: str | None = None, usage: Mapping[str, Any] | None = None,
    place: Placed = _NOWHERE, columns: Mapping[str, Sequence[tuple[DatasetName, str]]] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """Return the event of the job that makes a chart or dashboard from what it reads. `columns`: those that each of its fields is made of."""
    words = f"{title}\n\n{description}" if description else title
    facets = {
        "datasetType": event.facet("DatasetTypeDatasetFacet/1-0-0", datasetType=name.split("/")[-2].upper()),
        "documentation": event.documentation(words),
    }
    if place.owner:
        facets["ownership"] = event.ownership([(place.owner, None)], of="Dataset")
    if place.folder:
        facets["tags"] = event.tags({"folder": place.folder}, tool)
    if columns:
        facets["schema"] = event.schema({"name": field} for field in columns)
        facets["columnLineage"] = event.facet("ColumnLineageDatasetFacet", fields=_column_lineage(columns))
    if usage is not None:
        facets[USAGE] = event.facet(USAGE, **usage)
    job_facets = {"jobType": event.job_type("BATCH", tool.upper(), name.split("/")[-2].upper())}
    if sql:
        job_facets["sql"] = event.facet("SQLJobFacet", query=sql[:_LONGEST_SQL])
    if url:
        job_facets["sourceCodeLocation"] = event.source_code_location("web", url)
    return event.job(
        (tool, name),
        inputs=[event.dataset(one.namespace, one.name) for one in dict.fromkeys(reads)],
        outputs=[event.dataset(tool, name, facets=facets)],
        job_facets=job_facets,
        event_time=at,
    )


def _column_lineage(columns: Mapping[str, Sequence[tuple[DatasetName, str]]]) -> dict[str, Any]:
    return {
        field: {
            "inputFields": [{"namespace": one.namespace, "name": one.name, "field": column} for one, column in some]
        }
        for field, some in columns.items()
        if some
    }


def usage(views: int | None, last: dt.datetime | None, now: dt.datetime) -> dict[str, Any]:
    """Return the body of a usage facet: how often people looked, and when last."""
    status = "unread" if not last and not views else "active" if last and now - last < _ACTIVE else "stale"
    told: dict[str, Any] = {
        "reads": views or int(last is not None),
        "readsByPeople": views or int(last is not None),
        "status": status,
    }
    if last is not None:
        told |= {"lastReadAt": event.timestamp(last), "lastReadByPersonAt": event.timestamp(last)}
    return told
