"""The durations of jobs' runs."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Past(msgspec.Struct, frozen=True):
    """Completed runs of a job, oldest first: three lists of one length; durations in milliseconds."""

    runs: list[uuid.UUID]
    began: list[dt.datetime]
    took: list[float]


async def of_jobs(
    connection: Connection, jobs: Collection[uuid.UUID], limit: int, until: dt.datetime | str = "infinity"
) -> dict[uuid.UUID, Past]:
    """Return the latest completed runs of each job, at most `limit` of each. Jobs without any are absent."""
    if not jobs:
        return {}
    rows = await sqlfile.load("history/durations")["of_jobs"].many(connection, ids=list(jobs), limit=limit, until=until)
    return {row[0]: Past(row[1], row[2], row[3]) for row in rows}


async def active_jobs(connection: Connection, since: dt.datetime, limit: int) -> tuple[list[uuid.UUID], int]:
    """Jobs with a completed run since a time, the busiest first, and how many there are."""
    rows = await sqlfile.load("history/durations")["active_jobs"].many(connection, since=since, limit=limit)
    return [row[0] for row in rows], rows[0][1] if rows else 0
