"""Users of datasets, how often and when last; reads apart from writes, people apart from pipelines.

The counts are those of query logs (the pipeline's `headwater_usage` facets). Of one dataset, the jobs are listed, too, whose runs read or wrote it.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.answer.lineage.catalog import owners_of
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.node import short_job
from headwater.answer.lineage.sorting import Page, checked
from headwater.answer.usage.fields import shared_fields
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.usage import usage as store

STATUSES = ("active", "stale", "one_off", "unread", "dropped")
KINDS = ("person", "service", "bi", "pipeline", "unknown")
SORTS = (
    "reads", "writes", "readers", "people", "reads_by_people", "active_days", "last_read", "last_written", "name",
)  # fmt: skip
_READERS = 20
_JOBS, _COUNTED = 100, dt.timedelta(days=30)


class Reader(msgspec.Struct):
    """`kind`: person, service, bi, pipeline or unknown."""

    actor: str
    kind: str
    reads: int
    last_read_at: str | None


class Counts(msgspec.Struct, kw_only=True):
    """Executions that read and wrote."""

    reads: int = 0
    writes: int = 0
    reads_by_people: int = 0
    reads_by_services: int = 0
    reads_by_bi: int = 0
    reads_by_pipelines: int = 0
    reads_by_unknown: int = 0


class DatasetUsage(Counts, kw_only=True):
    """`readers`, `people`: distinct ones; of a dataset that is read under several names, as many at least.

    `active_days`: days on which it was read.
    """

    id: str
    namespace: str
    name: str
    label: str
    status: str
    readers: int
    people: int
    last_read_at: dt.datetime | None
    last_read_by_person_at: dt.datetime | None
    last_written_at: dt.datetime | None
    first_seen_at: dt.datetime | None
    active_days: int
    top_readers: list[Reader]
    measured_at: dt.datetime


class UsingJob(msgspec.Struct):
    """A job that `reads` or `writes` the dataset, by its events. `runs`: how many of its runs did in the last 30 days."""

    id: str
    label: str
    does: str
    runs: int
    last_at: dt.datetime | None
    owners: list[str]


class UsageTotals(Counts, kw_only=True):
    """The counts of all datasets that were asked for, not of this page alone."""

    by_status: dict[str, int]


class Usage(msgspec.Struct):
    """`measured_at`: when a log was read last; null if none was. `jobs`: of the dataset that was asked for, the latest 100; else empty."""

    measured_at: dt.datetime | None
    total: int
    totals: UsageTotals
    datasets: list[DatasetUsage]
    jobs: list[UsingJob]


async def usage(
    database: Database,
    page: Page,
    *,
    node: str | None = None,
    namespace: str | None = None,
    statuses: Sequence[str] = (),
    kind: str | None = None,
    unread_since: dt.datetime | None = None,
) -> Usage:
    """Return datasets by how they are used: of any of these statuses, read by this kind of actor, or not read since."""
    for status in statuses:
        checked(status, STATUSES, "status")
    checked(kind, KINDS, "actor_kind")
    sort, descending = page.sorted_by(SORTS)
    async with database.snapshot() as connection:
        ids, jobs = None, []
        if node is not None:
            row = await node_row(connection, node)
            if row.type != "DATASET":
                raise InvalidQuestion(f"{row.node_id} is no dataset", parameter="node")
            ids = [row.id]
            jobs = await _using_jobs(connection, row.id)
        wanted = store.Wanted(ids, namespace, tuple(statuses) or None, kind, unread_since)
        rows = await store.page(
            connection, wanted, sort=sort, descending=descending, limit=page.limit, offset=page.offset
        )
        told = await store.totals(connection, wanted)
    counts = {name: sum(getattr(one, name) for one in told) for name in Counts.__struct_fields__}
    by_status = dict.fromkeys(STATUSES, 0) | {one.status: one.datasets for one in told}
    return Usage(
        max((one.at for one in told), default=None),
        sum(one.datasets for one in told),
        UsageTotals(**counts, by_status=by_status),
        [_usage_view(row) for row in rows],
        jobs,
    )


async def _using_jobs(connection: Connection, dataset: uuid.UUID) -> list[UsingJob]:
    rows = await store.using_jobs(connection, dataset, dt.datetime.now(dt.UTC) - _COUNTED, _JOBS)
    names = await node_store.by_ids(connection, {row.job for row in rows})
    owners = await owners_of(connection, {row.job for row in rows})
    return [
        UsingJob(
            names[row.job].node_id,
            short_job(names[row.job].name),
            "reads" if row.direction == "in" else "writes",
            row.runs,
            row.last_at,
            owners.get(row.job, []),
        )
        for row in rows
        if row.job in names
    ]


def _usage_view(row: store.UsageRow) -> DatasetUsage:
    fields = shared_fields(DatasetUsage, row.usage) | {"top_readers": _readers(row.top_readers)}
    return DatasetUsage(
        **fields, id=f"dataset:{row.namespace}:{row.name}", namespace=row.namespace, name=row.name, label=short(row.name),
        readers=row.usage.distinct_readers, people=row.usage.distinct_people, measured_at=row.at,
    )  # fmt: skip


def _readers(told: Sequence[Sequence[dict[str, Any]]]) -> list[Reader]:
    """Return the readers of all names of the dataset, the one who reads most first."""
    merged: dict[tuple[str, str], Reader] = {}
    for one in (one for some in told for one in some):
        key = one["actor"], one.get("kind", "unknown")
        known = merged.setdefault(key, Reader(*key, 0, None))
        known.reads += one.get("reads", 0)
        known.last_read_at = max(filter(None, (known.last_read_at, one.get("lastReadAt"))), default=None)
    return sorted(merged.values(), key=lambda one: (-one.reads, one.actor, one.kind))[:_READERS]
