"""Namespaces of datasets, with the jobs that write and read there and the producers that report there."""

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "lineage/sources"
# So many datasets of a namespace stand for it.
_SAMPLED = 20


class SourceRow(NamedTuple):
    namespace: str
    datasets: int
    first_seen: dt.datetime
    last_seen: dt.datetime


class ProducerRow(NamedTuple):
    """`lag`: the median of seconds between an event and its arrival."""

    namespace: str
    producer: str
    last_arrival: dt.datetime
    lag: float


async def page(
    connection: Connection, namespace: str | None, *, limit: int, offset: int
) -> tuple[list[SourceRow], int]:
    """Return a page of namespaces, the one with the latest event first, and how many there are."""
    queries = sqlfile.load(_QUERIES)
    rows = await queries["page"].many(connection, namespace=namespace, limit=limit, offset=offset)
    (total,) = await queries["count"].one(connection, namespace=namespace)
    return [SourceRow(*row) for row in rows], total


async def jobs(connection: Connection, namespaces: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return for each namespace the jobs that write there, and those that read there."""
    rows = await sqlfile.load(_QUERIES)["jobs"].many(connection, namespaces=list(namespaces))
    return {row[0]: (row[1], row[2]) for row in rows}


async def producers(connection: Connection, namespaces: Sequence[str]) -> list[ProducerRow]:
    """Return the producers by namespace, the one with the latest event first."""
    rows = await sqlfile.load(_QUERIES)["producers"].many(connection, namespaces=list(namespaces), datasets=_SAMPLED)
    return [ProducerRow(*row) for row in rows]
