"""Readers and writers of datasets, from the query-log pipeline's facets. A dataset with several names is one."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.measured import Usage
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.usage.measured import USAGE


class UsageRow(msgspec.Struct, frozen=True):
    """One dataset. `usage`: over all its names, without `top_readers`. `top_readers`: a list for each name, as JSON."""

    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime
    usage: Usage
    top_readers: list[list[dict[str, object]]]


class StatusTotal(msgspec.Struct, frozen=True):
    """The totals of a status over the datasets asked for. `at`: the last report of any of them."""

    status: str
    datasets: int
    reads: int
    writes: int
    reads_by_people: int
    reads_by_services: int
    reads_by_bi: int
    reads_by_pipelines: int
    reads_by_unknown: int
    at: dt.datetime


class Wanted(msgspec.Struct, frozen=True):
    """A filter of datasets: by id, namespace, status, kind of reader (person, service, bi, pipeline, unknown), not read since. None is all."""

    ids: Collection[uuid.UUID] | None = None
    namespace: str | None = None
    statuses: Collection[str] | None = None
    kind: str | None = None
    unread_since: dt.datetime | None = None

    def parameters(self) -> dict[str, object]:
        return {
            "ids": None if self.ids is None else list(self.ids),
            "namespace": self.namespace,
            "statuses": None if self.statuses is None else list(self.statuses),
            "kind": self.kind,
            "unread_since": self.unread_since,
        }


class UsingJobRow(msgspec.Struct, frozen=True):
    """A job that reads (`in`) or writes (`out`) a dataset. `runs`: those that did since the time asked for."""

    job: uuid.UUID
    direction: str
    last_at: dt.datetime | None
    runs: int


async def using_jobs(connection: Connection, dataset: uuid.UUID, since: dt.datetime, limit: int) -> list[UsingJobRow]:
    """Return the jobs that read or write this dataset, the latest first."""
    rows = await sqlfile.load("usage/usage")["using_jobs"].many(connection, dataset=dataset, since=since, limit=limit)
    return [UsingJobRow(*row) for row in rows]


async def page(
    connection: Connection, wanted: Wanted, *, sort: str, descending: bool, limit: int, offset: int
) -> list[UsageRow]:
    """Return a page of datasets; those without the value to sort by come last, either way."""
    rows = await sqlfile.load("usage/usage")["page"].dicts(
        connection, **wanted.parameters(), sort=sort, sign=-1 if descending else 1, limit=limit, offset=offset
    )
    return [
        UsageRow(row["id"], row["namespace"], row["name"], row["at"], USAGE.read(row), row["top_readers_by_name"])
        for row in rows
    ]


async def totals(connection: Connection, wanted: Wanted) -> list[StatusTotal]:
    """Count all datasets that are wanted, by status."""
    return [
        StatusTotal(*row) for row in await sqlfile.load("usage/usage")["totals"].many(connection, **wanted.parameters())
    ]
