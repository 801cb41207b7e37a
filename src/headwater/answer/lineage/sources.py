"""List what datasets live in: warehouses, buckets, brokers and file systems, by namespace, and what reports about them."""

import datetime as dt

import msgspec

from headwater.store.database import Database
from headwater.store.lineage import sources as store
from headwater.store.search import platform


class SourceProducer(msgspec.Struct, frozen=True):
    """`lag_seconds`: the median between an event's time and its arrival. Negative: its clock is ahead."""

    producer: str
    last_arrival: dt.datetime
    lag_seconds: float


class Source(msgspec.Struct, frozen=True):
    """`platform`: the scheme of the namespace. `last_seen`: the latest event about one of its datasets. `writers`, `readers`: jobs.

    `producers`: those of the last runs over its 20 datasets with the latest events.
    """

    namespace: str
    platform: str
    datasets: int
    writers: int
    readers: int
    first_seen: dt.datetime
    last_seen: dt.datetime
    producers: list[SourceProducer]


class Sources(msgspec.Struct, frozen=True):
    """The one with the latest event first."""

    total: int
    sources: list[Source]


async def sources(database: Database, *, namespace: str | None = None, limit: int = 100, offset: int = 0) -> Sources:
    """Return all sources, or that of one namespace."""
    async with database.snapshot() as connection:
        rows, total = await store.page(connection, namespace, limit=limit, offset=offset)
        names = [row.namespace for row in rows]
        jobs = await store.jobs(connection, names) if names else {}
        reporting: dict[str, list[SourceProducer]] = {}
        for one in await store.producers(connection, names) if names else ():
            reporting.setdefault(one.namespace, []).append(
                SourceProducer(one.producer, one.last_arrival, round(one.lag, 3))
            )
    return Sources(
        total,
        [
            Source(
                row.namespace, platform(row.namespace), row.datasets, *jobs.get(row.namespace, (0, 0)), row.first_seen,
                row.last_seen, reporting.get(row.namespace, []),
            )
            for row in rows
        ],
    )  # fmt: skip
