"""Writes projections: one statement for each table, whatever the number of rows, all sent at once."""

import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

import msgspec
from psycopg import AsyncPipeline

from headwater.store import sqlfile
from headwater.store.database import Connection, sent

Rows = Mapping[str, Sequence[tuple[Any, ...]]]

# The columns each statement takes, in the order of the rows it is given; and the order in which the statements run, the same in every
# transaction (with rows sorted inside each), so that two writers never wait for each other in a circle.
COLUMNS: dict[str, tuple[str, ...]] = {
    "insert_facet_bodies": ("id", "body"),
    "insert_facet_sets": ("id", "name", "body_id", "deleted"),
    "insert_column_sets": ("id", "edges"),
    "upsert_namespaces": ("name", "at"),
    "upsert_sources": ("name", "url", "at"),
    "upsert_dataset_links": ("dataset_id", "alias_id", "kind", "at"),
    "upsert_datasets": ("id", "namespace", "name", "at"),
    "upsert_jobs": ("id", "namespace", "name", "at", "digest", "parent_id", "declared_at", "explicit_at"),
    "upsert_runs": (
        "run_id", "job_id", "external_id", "state", "at", "digest", "started_at", "ended_at", "parent_run_id", "parent_job_id",
        "nominal_start", "nominal_end", "user_name", "statement",
    ),
    "upsert_reports": ("job_id", "report_id", "declaration", "at"),
    "upsert_report_datasets": ("job_id", "report_id", "dataset_id", "direction", "declared", "at"),
    "upsert_report_subsets": ("job_id", "report_id", "dataset_id", "direction", "part", "at"),
    "upsert_edges": ("dataset_id", "job_id", "direction", "at", "declared", "by_event"),
    "upsert_dataset_versions": (
        "id", "dataset_id", "run_id", "job_id", "external_version", "declared", "at", "digest", "schema_id", "lifecycle",
        "rows", "bytes", "files", "checkpoint",
    ),
    "upsert_owner_facets": ("owner", "set_id", "at", "digest"),
    "upsert_report_columns": ("job_id", "report_id", "target_id", "origin", "slot", "at", "digest", "set_id"),
    "upsert_annotations": ("target", "kind", "key", "value", "deleted", "author", "at", "change_id", "owner", "field"),
    "upsert_correlation_items": (
        "id", "kind", "dataset_id", "run_id", "job_id", "external_version", "part", "bytes", "at", "digest",
    ),
    "new_correlation_edges": ("parent_id", "child_id", "role", "at", "digest"),
    "insert_edge_changes": ("job_id", "dataset_id", "direction", "change_id", "at", "drawn", "set_id"),
    "upsert_usage": ("dataset_id", "at", "digest", "body_id", "deleted", "reads", "writes", "reads_by_people", "reads_by_services", "reads_by_bi",
        "reads_by_pipelines", "reads_by_unknown", "readers", "people", "last_read_at", "last_read_by_person_at", "last_written_at", "first_seen_at",
        "active_days", "status", "top_readers"),
    "upsert_costs": ("owner", "at", "digest", "body_id", "deleted", "grain", "executions", "money", "bytes_billed", "slot_ms", "duration_ms",
        "credits", "share", "keep_month", "drivers", "hidden_drivers"),
    "upsert_recurrence": ("job_id", "at", "digest", "body_id", "deleted", "class", "executions", "period_seconds", "first_at", "last_at",
        "expected_next_at", "missing", "unexpected", "confidence"),
    "upsert_query_counts": ("job_id", "at", "digest", "body_id", "deleted", "executions", "failures", "first_at", "last_at", "level",
        "last_query_id", "actors", "tools"),
    "upsert_pruning": ("dataset_id", "at", "digest", "body_id", "deleted", "wave", "reason", "money_month", "evidence", "confidence"),
    "upsert_lineage_quality": ("job_id", "day", "dialect", "at", "digest", "body_id", "shapes", "full_shapes", "partial_shapes", "tables_shapes",
        "nothing_shapes", "idle_shapes", "executions", "full_executions", "partial_executions", "tables_executions", "nothing_executions",
        "idle_executions", "textless_executions", "unresolved", "quarantined", "quarantined_by", "told_executions", "told_agreed",
        "told_only", "parsed_only"),
}  # fmt: skip

# Every table that rebuild empties and makes again.
TABLES = (
    "datasets", "dataset_links", "dataset_canonical", "jobs", "namespaces", "sources", "runs", "reports", "report_datasets",
    "report_subsets", "edges", "dataset_versions", "facet_bodies", "facet_sets", "owner_facets", "report_columns", "column_sets",
    "annotations", "edge_changes", "search_documents", "search_words", "correlation_items", "correlation_edges", "correlation_paths",
    "usage", "costs", "recurrence", "query_counts", "pruning", "lineage_quality",
)  # fmt: skip

_NODES = ("upsert_datasets", "upsert_jobs", "upsert_runs")
# Content: rows whose first column says all. Spans: rows whose last column is a time, and an earlier one is all that could change them.
_CONTENT = ("insert_facet_bodies", "insert_facet_sets", "insert_column_sets")
_SPANS = ("upsert_namespaces", "upsert_sources", "upsert_dataset_links")
_REMEMBERED = 200_000


class CommittedRows:
    """Rows this process has seen committed, so that they are not sent again. Good for one generation of the database."""

    def __init__(self) -> None:
        self._content: set[tuple[str, Any]] = set()
        self._spans: dict[tuple[str, Any], Any] = {}

    def news(self, rows: Rows) -> dict[str, Sequence[tuple[Any, ...]]]:
        """The rows that may change something."""
        found = dict(rows)
        for name in _CONTENT:
            if name in found:
                found[name] = [row for row in found[name] if (name, row[0]) not in self._content]
        for name in _SPANS:
            if name in found:
                found[name] = [row for row in found[name] if not self._covered(name, row)]
        return found

    def committed(self, name: str, id_: uuid.UUID) -> bool:
        """Whether this row of content is known to be stored."""
        return (name, id_) in self._content

    def _covered(self, name: str, row: tuple[Any, ...]) -> bool:
        first = self._spans.get((name, row[:-1]))
        return first is not None and first <= row[-1]

    def learn(self, rows: Rows) -> None:
        """These rows are committed."""
        if len(self._content) > _REMEMBERED:
            self._content.clear()
        if len(self._spans) > _REMEMBERED:
            self._spans.clear()
        for name in _CONTENT:
            self._content.update((name, row[0]) for row in rows.get(name, ()))
        for name in _SPANS:
            for row in rows.get(name, ()):
                if not self._covered(name, row):
                    self._spans[name, row[:-1]] = row[-1]


class Written(msgspec.Struct):
    """What a write met. `created`: datasets, jobs and runs never heard of before.

    `changed`: datasets and jobs that are new, or whose facets are new or may be other ones than before.

    `hidden`: datasets and jobs that were hidden and are spoken of again; `hidden_namespaces` likewise.

    `correlated`: edges of correlation that are not written yet: they are new, or told earlier than before (`intake.closure` takes them).
    """

    created: set[uuid.UUID]
    changed: set[uuid.UUID]
    hidden: set[uuid.UUID]
    hidden_namespaces: set[str]
    correlated: list[tuple[Any, ...]] = []


async def write(connection: Connection, pipeline: AsyncPipeline, rows: Rows, live_runs: int) -> Written:
    """Merge the rows into their tables, in the caller's pipeline (never one of its own: entering a second waits for the first).

    Rows with links are written `alone`.
    """
    queries = sqlfile.load("events/projections")
    told: dict[str, Any] = {}
    for name, columns in COLUMNS.items():
        if given := rows.get(name):
            if name == "upsert_datasets":
                await queries["lock_datasets"].send(connection, ids=sorted({row[0] for row in given}))
            told[name] = await queries[name].send_columns(connection, columns, given)
    reported = sorted({row[0] for row in rows.get("upsert_reports", ()) if not row[2]})
    if reported:
        await queries["move_horizons"].send(connection, jobs=reported, live_runs=live_runs)
    await sent(connection)
    await pipeline.sync()
    linked = set()
    if "upsert_dataset_links" in told:
        linked = {id_ for row in await told["upsert_dataset_links"].fetchall() for id_ in row}
    if linked:
        await settle_names(connection, linked)
    created: set[uuid.UUID] = set()
    changed: set[uuid.UUID] = set(linked)
    hidden: set[uuid.UUID] = set()
    for name in _NODES:
        for row in await told[name].fetchall() if name in told else ():
            if row[1]:
                created.add(row[0])
                if name != "upsert_runs":
                    changed.add(row[0])
            elif name != "upsert_runs" and row[2]:
                hidden.add(row[0])
    if "upsert_owner_facets" in told:
        changed |= {row[0] for row in await told["upsert_owner_facets"].fetchall() if row[1]}
    spaces = await told["upsert_namespaces"].fetchall() if "upsert_namespaces" in told else ()
    edges = await told["new_correlation_edges"].fetchall() if "new_correlation_edges" in told else []
    return Written(created, changed, hidden, {row[0] for row in spaces if row[1]}, edges)


async def settle_names(connection: Connection, ids: Collection[uuid.UUID]) -> None:
    """One name for each group of linked datasets that these are in; written `alone`."""
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
