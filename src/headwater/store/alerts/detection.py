"""Events of a window of time that rules of alerts watch. Judges nothing."""

import datetime as dt
import uuid
from typing import NamedTuple

from headwater.model.troubles import Window
from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "alerts/detection"
_MOST = 10_000


class Failure(NamedTuple):
    """The first failure of a job since `before`, its last run that had ended well; `until`: when the next good run ended."""

    job: uuid.UUID
    run: uuid.UUID
    state: int
    at: dt.datetime
    before: uuid.UUID | None
    before_at: dt.datetime | None
    until: dt.datetime | None


class FailedCheck(NamedTuple):
    """The first failure of a check since it passed (`before`). `subject`: a dataset, or a job of which a whole run was checked."""

    subject: uuid.UUID
    name: str
    field: str
    at: dt.datetime
    detail: str
    before: dt.datetime | None
    until: dt.datetime | None
    run: uuid.UUID
    direction: str


class StoredVerdict(NamedTuple):
    id: uuid.UUID
    opened_at: dt.datetime
    reason: str
    closed_at: dt.datetime | None
    datasets: list[uuid.UUID]
    jobs: list[uuid.UUID]


async def failures(connection: Connection, window: Window) -> list[Failure]:
    return [Failure(*row) for row in await _in_window(connection, "failures", window)]


async def lasting_failures(connection: Connection, since: dt.datetime) -> list[Failure]:
    """Return the failures that began in the 30 days before a time and lasted until then."""
    rows = await sqlfile.load(_QUERIES)["lasting_failures"].many(connection, since=since, limit=_MOST)
    return [Failure(*row) for row in rows]


async def failed_checks(connection: Connection, window: Window) -> list[FailedCheck]:
    return [FailedCheck(*row) for row in await _in_window(connection, "failed_checks", window)]


async def verdicts(connection: Connection, window: Window) -> list[StoredVerdict]:
    return [StoredVerdict(*row) for row in await _in_window(connection, "verdicts", window)]


async def new_schemas(connection: Connection, window: Window) -> list[uuid.UUID]:
    """Return the datasets whose schema was reported with other facets than before, or is another one."""
    return [row[0] for row in await _in_window(connection, "new_schemas", window)]


async def first_seen(connection: Connection, window: Window) -> list[tuple[uuid.UUID, dt.datetime]]:
    return [(row[0], row[1]) for row in await _in_window(connection, "first_seen", window)]


async def dropped(
    connection: Connection, window: Window
) -> list[tuple[uuid.UUID, dt.datetime, uuid.UUID, uuid.UUID | None]]:
    """Return (dataset, when, version, job)."""
    return [(row[0], row[1], row[2], row[3]) for row in await _in_window(connection, "dropped", window)]


async def used_again(
    connection: Connection, window: Window, unused: int
) -> list[tuple[uuid.UUID, uuid.UUID, dt.datetime]]:
    """Return (dataset, job, when) of reads after at least `unused` seconds without one."""
    rows = await sqlfile.load(_QUERIES)["used_again"].many(
        connection, since=window.since, until=window.until, unused=unused, limit=_MOST
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def measured_costs(connection: Connection, window: Window) -> list[uuid.UUID]:
    return [row[0] for row in await _in_window(connection, "measured_costs", window)]


async def _in_window(connection: Connection, query: str, window: Window) -> list[sqlfile.Row]:
    return await sqlfile.load(_QUERIES)[query].many(connection, since=window.since, until=window.until, limit=_MOST)
