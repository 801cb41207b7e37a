"""Counts of what producers sent in a window of the log, by time of arrival."""

import datetime as dt

from headwater.store import sqlfile
from headwater.store.database import Connection


async def activity(connection: Connection, since: dt.datetime) -> list[sqlfile.Row]:
    """Return (producer, kind, event type or None, events, last arrival)."""
    return await sqlfile.load("events/producers")["activity"].many(connection, since=since)


async def delays(connection: Connection, since: dt.datetime) -> dict[str, list[float]]:
    """Return the seconds between an event's time and its arrival, by producer: median, 90 %, 99 %, longest."""
    return dict(await sqlfile.load("events/producers")["delays"].many(connection, since=since))


async def warnings(connection: Connection, since: dt.datetime) -> list[sqlfile.Row]:
    """Return (producer, code, day, how many, example, last arrival), in order."""
    return await sqlfile.load("events/producers")["warnings"].many(connection, since=since)


async def events_with_warnings(connection: Connection, since: dt.datetime) -> dict[str, int]:
    return dict(await sqlfile.load("events/producers")["events_with_warnings"].many(connection, since=since))


async def never_ended(connection: Connection, since: dt.datetime, silent_since: dt.datetime) -> list[sqlfile.Row]:
    """Return (producer, job, runs, first event of the earliest), streams among them."""
    return await sqlfile.load("events/producers")["never_ended"].many(
        connection, since=since, silent_since=silent_since
    )


async def reported_hours(connection: Connection, since: dt.datetime, until: dt.datetime) -> list[sqlfile.Row]:
    """Return (producer, the beginning of an hour of which an event of it reports, in seconds since 1970)."""
    return await sqlfile.load("events/producers")["reported_hours"].many(connection, since=since, until=until)
