"""Writes projections: one statement for each table, for any number of rows, all sent at once."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import astuple
from psycopg import AsyncCursor, AsyncPipeline

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection, sent
from headwater.store.events.rows import (
    COLUMNS,
    STATEMENTS,
    AnyRow,
    ColumnSetRow,
    CorrelationEdgeRow,
    DatasetLinkRow,
    DatasetRow,
    FacetBodyRow,
    FacetSetRow,
    JobRow,
    NamespaceRow,
    OwnerFacetRow,
    RunRow,
    SourceRow,
    as_tuples,
)
from headwater.store.usage.measured import MEASUREMENTS

# Rows by their type.
Rows = Mapping[type[AnyRow], Sequence[AnyRow]]

# Every table that rebuild empties and makes again.
TABLES = (
    "datasets", "dataset_links", "dataset_canonical", "jobs", "namespaces", "sources", "runs", "reports", "report_datasets",
    "report_subsets", "report_snapshots", "report_statements", "report_foreign_edges", "edges", "foreign_edges",
    "dataset_versions", "checks", "run_labels", "job_dependencies", "facet_bodies", "facet_sets", "owner_facets", "report_columns", "column_sets",
    "annotations", "edge_changes", "search_documents", "search_words", "correlation_items", "correlation_edges", "correlation_paths",
    "usage", "costs", "recurrence", "query_counts", "pruning", "lineage_quality",
)  # fmt: skip

# The statement of each type of row, in the order of `rows.STATEMENTS`.
_REPLACE: dict[type[AnyRow], sqlfile.Query] = {measurement.row: measurement.statement for measurement in MEASUREMENTS}
_QUERIES: dict[type[AnyRow], sqlfile.Query] = {
    kind: _REPLACE.get(kind) or sqlfile.load("events/projections")[name] for kind, name in STATEMENTS.items()
}
# Rows of content: their id determines the rest.
_CONTENT = (FacetBodyRow, FacetSetRow, ColumnSetRow)
# Rows that only an earlier `at`, their last column, can change.
_SPANS = (NamespaceRow, SourceRow, DatasetLinkRow)
_Content = FacetBodyRow | FacetSetRow | ColumnSetRow
_Span = NamespaceRow | SourceRow | DatasetLinkRow
_REMEMBERED = 200_000


class CommittedRows:
    """Rows that this process has committed and need not send again. Valid for one generation of the database."""

    def __init__(self) -> None:
        self._content: set[tuple[type, uuid.UUID]] = set()
        self._spans: dict[tuple[type, tuple[Any, ...]], dt.datetime] = {}

    def news(self, rows: Rows) -> dict[type[AnyRow], Sequence[AnyRow]]:
        """The rows that may change something."""
        new = dict(rows)
        for kind in _CONTENT:
            if kind in new:
                new[kind] = [row for row in _content(rows, kind) if (kind, row.id) not in self._content]
        for span in _SPANS:
            if span in new:
                new[span] = [row for row in _spans(rows, span) if not self._covered(span, row)]
        return new

    def committed(self, kind: type, id_: uuid.UUID) -> bool:
        """Return whether this process has committed the row of content."""
        return (kind, id_) in self._content

    def _covered(self, kind: type, row: _Span) -> bool:
        first = self._spans.get((kind, astuple(row)[:-1]))
        return first is not None and first <= row.at

    def learn(self, rows: Rows) -> None:
        """Remember rows after their commit."""
        if len(self._content) > _REMEMBERED:
            self._content.clear()
        if len(self._spans) > _REMEMBERED:
            self._spans.clear()
        for kind in _CONTENT:
            self._content.update((kind, row.id) for row in _content(rows, kind))
        for span in _SPANS:
            for row in _spans(rows, span):
                if not self._covered(span, row):
                    self._spans[span, astuple(row)[:-1]] = row.at


def _content(rows: Rows, kind: type[AnyRow]) -> "Sequence[_Content]":
    return cast("Sequence[_Content]", rows.get(kind, ()))


def _spans(rows: Rows, kind: type[AnyRow]) -> "Sequence[_Span]":
    return cast("Sequence[_Span]", rows.get(kind, ()))


class WriteResult(msgspec.Struct):
    """The changes that a write made.

    `created`: datasets, jobs and runs that had no row. `changed`: datasets and jobs that are new, or whose names or facets may differ from before.
    `hidden`, `hidden_namespaces`: hidden ones that the rows mention. `correlated`: correlation edges to write: they are new, or earlier than
    stored (`intake.events.closure`).
    """

    created: set[uuid.UUID]
    changed: set[uuid.UUID]
    hidden: set[uuid.UUID]
    hidden_namespaces: set[str]
    correlated: list[CorrelationEdgeRow] = []


async def write(connection: Connection, pipeline: AsyncPipeline, rows: Rows) -> WriteResult:
    """Merge the rows into their tables, in the caller's pipeline (entering a second one would wait for the first).

    Call `alone` first if there are rows of `DatasetLinkRow`.
    """
    cursors: dict[type, AsyncCursor[Any]] = {}
    for kind, query in _QUERIES.items():
        if given := rows.get(kind):
            if kind is DatasetRow:
                ids = sorted({row.id for row in cast("Sequence[DatasetRow]", given)})
                await sqlfile.load("events/projections")["lock_datasets"].send(connection, ids=ids)
            cursors[kind] = await query.send_columns(connection, COLUMNS[kind], as_tuples(given))
    runs = cast("Sequence[RunRow]", rows.get(RunRow, ()))
    if told := sorted({(run.job_id, run.run_id) for run in runs if run.state != RunState.NEW}):
        keys = {"jobs": [job for job, _ in told], "runs": [run for _, run in told]}
        await sqlfile.load("events/projections")["settle_jobs"].send(connection, **keys)
    await sent(connection)
    await pipeline.sync()

    async def returned(kind: type) -> list[tuple[Any, ...]]:
        return await cursors[kind].fetchall() if kind in cursors else []

    if linked := {id_ for link in await returned(DatasetLinkRow) for id_ in link}:
        await settle_names(connection, linked)
    nodes = [*await returned(DatasetRow), *await returned(JobRow)]
    created = {id_ for id_, is_new, _ in nodes if is_new}
    facets_changed = {owner for owner, changed in await returned(OwnerFacetRow) if changed}
    return WriteResult(
        created | {run for run, is_new in await returned(RunRow) if is_new},
        linked | created | facets_changed,
        {id_ for id_, is_new, is_hidden in nodes if is_hidden and not is_new},
        {name for name, is_hidden in await returned(NamespaceRow) if is_hidden},
        [CorrelationEdgeRow(*row) for row in await returned(CorrelationEdgeRow)],
    )


class Statement(msgspec.Struct, frozen=True):
    """A statement below a run of a dbt model: the model, its outputs as (namespace, name), the `sql` facet, its first and last time."""

    job: uuid.UUID
    outputs: list[tuple[str, str]]
    body: bytes
    first_at: dt.datetime
    last_at: dt.datetime


async def statements_of(connection: Connection, reports: Collection[tuple[uuid.UUID, uuid.UUID]]) -> list[Statement]:
    """Return the statements below these (job, run) whose outputs are known."""
    jobs, runs = map(list, zip(*sorted(reports), strict=True))
    rows = await sqlfile.load("events/projections")["statements_of_reports"].many(connection, jobs=jobs, reports=runs)
    return [
        Statement(job, list(zip(namespaces, names, strict=True)), body, first, last)
        for job, namespaces, names, body, first, last in rows
    ]


async def settle_names(connection: Connection, ids: Collection[uuid.UUID]) -> None:
    """Settle one name for each group of linked datasets that these are in; written `alone`."""
    await sqlfile.load("events/projections")["settle_names"].exec(connection, ids=sorted(ids))


async def alone(connection: Connection) -> None:
    """Keep every other writer waiting until the transaction ends; before `begin_writing`.

    For what is rare and touches rows of datasets the writer does not speak of: a link between names never told before, a person's change.
    Two that do so at once would otherwise wait for each other's rows.
    """
    await connection.execute("select pg_advisory_xact_lock(1751474532, 2)")


async def empty(connection: Connection) -> None:
    """Empty every projection; the log stays.

    By `delete`: `truncate` would keep every reader waiting to the end, and show empty tables to those that began before it.
    """
    for table in TABLES:
        await connection.execute(f"delete from {table}")


async def lines(connection: Connection, table: str) -> AsyncIterator[bytes]:
    """The table's rows as text, ordered by all their values."""
    if table not in TABLES:
        raise ValueError(table)
    async with connection.cursor().copy(f"copy (select t.* from {table} t order by t.*) to stdout") as copy:
        async for block in copy:
            yield bytes(block)
