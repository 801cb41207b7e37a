"""Writes projections: one statement for each table, whatever the number of rows."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from headwater.store import sqlfile
from headwater.store.database import Connection

# The columns each statement takes, in the order of the rows it is given; and the order in which the statements run, the same in every
# transaction (with rows sorted inside each), so that two writers never wait for each other in a circle.
COLUMNS: dict[str, tuple[str, ...]] = {
    "insert_facet_bodies": ("id", "body"),
    "insert_schema_fields": ("body_id", "position", "name", "type", "description"),
    "insert_column_edges": (
        "set_id", "position", "target_field", "source_id", "source_field", "type", "subtype", "masking", "description",
    ),
    "upsert_datasets": ("id", "namespace", "name", "at"),
    "upsert_jobs": ("id", "namespace", "name", "at", "digest", "parent_id"),
    "upsert_runs": (
        "run_id", "job_id", "external_id", "state", "at", "digest", "started_at", "ended_at", "parent_run_id", "parent_job_id",
    ),
    "upsert_reports": ("job_id", "report_id", "declaration", "at"),
    "upsert_report_datasets": ("job_id", "report_id", "dataset_id", "direction", "declared", "at"),
    "upsert_edges": ("dataset_id", "job_id", "direction", "at"),
    "upsert_dataset_versions": ("id", "dataset_id", "run_id", "job_id", "external_version", "declared", "at"),
    "upsert_facets": ("owner", "name", "at", "digest", "body_id", "deleted"),
    "upsert_report_columns": ("job_id", "report_id", "target_id", "origin", "slot", "at", "digest", "set_id"),
}  # fmt: skip

# Every table that rebuild empties and makes again.
TABLES = (
    "datasets", "jobs", "runs", "reports", "report_datasets", "edges", "dataset_versions",
    "facets", "facet_bodies", "schema_fields", "report_columns", "column_edges",
)  # fmt: skip

_NODES = {"upsert_datasets", "upsert_jobs", "upsert_runs"}


async def write(connection: Connection, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> set[uuid.UUID]:
    """Merge the rows into their tables; the ids of datasets, jobs and runs that were not known before."""
    queries = sqlfile.load("projections")
    created: set[uuid.UUID] = set()
    for name, columns in COLUMNS.items():
        given = rows.get(name)
        if not given:
            continue
        arrays = dict(zip(columns, (list(column) for column in zip(*given, strict=True)), strict=True))
        if name in _NODES:
            created |= {row[0] for row in await queries[name].many(connection, **arrays) if row[1]}
        else:
            await queries[name].exec(connection, **arrays)
    return created


async def empty(connection: Connection) -> None:
    """Empty every projection; the log stays."""
    await connection.execute("truncate " + ", ".join(TABLES))


async def lines(connection: Connection, table: str) -> AsyncIterator[bytes]:
    """The table's rows as text, ordered by all their values."""
    if table not in TABLES:
        raise ValueError(table)
    async with connection.cursor().copy(f"copy (select t.* from {table} t order by t.*) to stdout") as copy:
        async for block in copy:
            yield bytes(block)
