"""Questions of a process that holds a part of the graph: how far the log has come, and what has arrived since."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.model.lineage import Edge
from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

CHANGES = ("metadata", "rebuild", "retention")
"""Kinds of change, other than events, that answers about the graph depend on."""


class Position(msgspec.Struct, frozen=True):
    """`top`: the last number of arrival that was drawn. Whatever is held is of one `generation` and one setting of `parsed_sql`."""

    top: int
    generation: int
    parsed_sql: bool


class LoggedEvent(msgspec.Struct, frozen=True):
    arrived: int
    event_time: dt.datetime
    digest: bytes


async def position(connection: Connection) -> Position:
    return Position(*await sqlfile.load("lineage/resident")["position"].one(connection))


async def arrived(connection: Connection, after: int, limit: int) -> list[LoggedEvent]:
    """Return events that arrived after a number, in no order; more may follow if there are as many as the limit."""
    rows = await sqlfile.load("lineage/resident")["arrived"].many(connection, after=after, limit=limit)
    return [LoggedEvent(*row) for row in rows]


async def changed(connection: Connection, after: int) -> list[int]:
    """Return the numbers of arrival after this one of changes that are no events."""
    rows = await sqlfile.load("lineage/resident")["changed"].many(connection, after=after, kinds=list(CHANGES))
    return [row[0] for row in rows]


async def bodies(connection: Connection, events: Sequence[LoggedEvent]) -> list[tuple[dt.datetime, bytes, bytes]]:
    """Return (time, digest, body) of these events; one that retention has dropped is absent."""
    rows = await sqlfile.load("lineage/resident")["bodies"].many(
        connection,
        times=Packed("timestamptz", [event.event_time for event in events]),
        digests=Packed("bytea", [event.digest for event in events]),
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def affected_jobs(connection: Connection, jobs: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return the jobs whose live edges may differ since something was reported of these, apart from themselves."""
    rows = await sqlfile.load("lineage/resident")["affected_jobs"].many(connection, jobs=list(jobs))
    return {row[0] for row in rows}


async def affected_datasets(connection: Connection, runs: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return the datasets of which these runs wrote versions."""
    rows = await sqlfile.load("lineage/resident")["affected_datasets"].many(connection, runs=list(runs))
    return {row[0] for row in rows}


async def canonical(connection: Connection, datasets: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return the dataset that stands for each of these that is linked to others."""
    return dict(await sqlfile.load("lineage/resident")["canonical"].many(connection, datasets=list(datasets)))


async def edges_of(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Edge]]:
    """Return the live edges of these jobs, both ways; jobs without any are absent."""
    found: dict[uuid.UUID, list[Edge]] = {}
    for direction in ("in", "out"):
        for edge in await edge_store.at_jobs(connection, jobs, direction, Moment()):
            found.setdefault(edge.job, []).append(edge)
    return found
