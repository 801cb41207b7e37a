"""Add the tables that statements below a dbt model read and the model does not list, where no statement names its connection.

dbt-ol with structured logs sends a statement as a job of its own, without a namespace of a warehouse (DuckDB, PostgreSQL); the model's run
has one, in its output. The two arrive in any order, so each transaction that brings one of them looks for the other. Both lock the model's
row in `jobs` before, so of two at once the later sees the earlier.
"""

import uuid
from collections.abc import Iterable
from typing import cast

from headwater.intake.events.facets import FacetDecoder
from headwater.intake.events.parsed_sql import BESIDE, is_dbt_model, read_beside
from headwater.model.names import DatasetName
from headwater.model.sql_platform import name_parts
from headwater.store.database import Connection
from headwater.store.events import projections
from headwater.store.events.rows import (
    AnyRow,
    DatasetRow,
    ForeignEdgeRow,
    JobRow,
    NamespaceRow,
    ReportDatasetRow,
    ReportStatementRow,
    RowSet,
)


async def add_statement_reads(connection: Connection, rows: projections.Rows, decoder: FacetDecoder) -> set[uuid.UUID]:
    """Write the edges that follow from `rows`, which are written, and from what was stored before. Returns the datasets that are new.

    Without a statement or a dbt model in `rows`, sends nothing.
    """
    reports = _reports(rows)
    if not reports:
        return set()
    made = RowSet()
    for statement in await projections.statements_of(connection, reports):
        for row in statement_rows(statement, decoder):
            made.add(row)
    if not made.rows:
        return set()
    async with connection.pipeline() as pipeline:
        return (await projections.write(connection, pipeline, made.rows)).created


def statement_rows(statement: projections.Statement, decoder: FacetDecoder) -> Iterable[AnyRow]:
    """Return the rows of the tables that one statement reads beside what its model lists."""
    outputs = [DatasetName(*name) for name in statement.outputs]
    for namespace in sorted({name.namespace for name in outputs if name_parts(name.namespace) is not None}):
        for name in read_beside(statement.body, namespace, outputs, decoder):
            placed = decoder.identity.place(name)
            for at in (statement.first_at, statement.last_at):
                yield DatasetRow(placed.id, placed.name.namespace, placed.name.name, at)
                yield NamespaceRow(placed.name.namespace, at)
                yield ForeignEdgeRow(placed.id, statement.job, "in", BESIDE, at, False)


def _reports(rows: projections.Rows) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Return (job, run) of the models whose statements or outputs are in `rows`."""
    statements = cast("Iterable[ReportStatementRow]", rows.get(ReportStatementRow, ()))
    models = {row.id for row in cast("Iterable[JobRow]", rows.get(JobRow, ())) if is_dbt_model(row.name)}
    datasets = cast("Iterable[ReportDatasetRow]", rows.get(ReportDatasetRow, ()))
    return {(row.job_id, row.report_id) for row in statements} | {
        (row.job_id, row.report_id) for row in datasets if row.direction == "out" and row.job_id in models
    }
