"""People, services and tools that ran jobs, by query logs, and when; of other jobs, their latest runs."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.measured import Actor, Used
from headwater.store import sqlfile
from headwater.store.database import Connection


class Askers(msgspec.Struct, frozen=True):
    """The actors and tools that ran one query shape."""

    executions: int
    last_at: dt.datetime | None
    actors: list[Actor]
    tools: list[Used]


async def askers(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, Askers]:
    """Return the actors and tools of each of these jobs that a query log has."""
    rows = await sqlfile.load("usage/askers")["askers"].many(connection, jobs=list(jobs))
    return {
        row[0]: Askers(row[1], row[2], msgspec.json.decode(row[3], type=list[Actor]), msgspec.json.decode(row[4], type=list[Used]))
        for row in rows
    }  # fmt: skip


async def last_runs(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, dt.datetime]:
    """Return the beginning of the latest run of each of these jobs that ran."""
    rows = await sqlfile.load("usage/askers")["last_runs"].many(connection, jobs=list(jobs))
    return {row[0]: row[1] for row in rows}
