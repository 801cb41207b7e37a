"""Deletes what is older than it is kept: one bounded batch a call, in the caller's transaction. Refuses to know how long that is."""

import datetime as dt
import uuid
from typing import Literal

from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.events import server_state

Content = Literal["column_set", "facet_set", "facet_body"]
_PAGE = 500
_FIRST = dt.datetime(2010, 1, 1, tzinfo=dt.UTC)


async def try_lock(connection: Connection) -> bool:
    """Try to take the lock of retention; return whether this session has it. It is held until `unlock` or the session's end."""
    (got,) = await sqlfile.load("events/retention")["try_lock"].one(connection)
    return bool(got)


async def unlock(connection: Connection) -> None:
    await sqlfile.load("events/retention")["unlock"].many(connection)


async def begin(connection: Connection, *, lock_seconds: float = 2.0) -> None:
    """First call of a transaction: no lock is waited for longer, but the end of a rebuild."""
    await sqlfile.load("events/retention")["share"].many(connection)
    await connection.execute("select set_config('lock_timeout', %s, true)", (f"{int(lock_seconds * 1000)}ms",))


async def months(connection: Connection, before: dt.datetime) -> list[tuple[str, int]]:
    """Partitions of the log that hold nothing at or after a time, the oldest first, and about how many events each has."""
    return [
        (row[0], row[1]) for row in await sqlfile.load("events/retention")["partitions"].many(connection, before=before)
    ]


async def drop_month(connection: Connection, name: str) -> None:
    """Drop one of `months`, and remember that the log has a hole."""
    year, month = int(name[7:11]), int(name[12:14])
    # The lock under which a month is made.
    await connection.execute("select pg_advisory_xact_lock(%s, %s)", (0x68656164, year * 12 + month))
    await connection.execute(f"alter table events detach partition events_{year}_{month:02}")
    await connection.execute(f"drop table events_{year}_{month:02}")
    end = dt.datetime(year + month // 12, month % 12 + 1, 1, tzinfo=dt.UTC)
    await sqlfile.load("events/retention")["log_dropped"].exec(connection, before=end)


async def delete_odd_events(connection: Connection, before: dt.datetime, limit: int) -> int:
    """Events of years that have no months."""
    queries = sqlfile.load("events/retention")
    early = await queries["delete_early_events"].exec(connection, before=before, limit=limit)
    late = await queries["delete_late_events"].exec(connection, before=before, limit=limit)
    if early or late:
        await queries["log_dropped"].exec(connection, before=before if late else min(before, _FIRST))
    return early + late


async def count(connection: Connection, what: str, before: dt.datetime) -> int:
    """Return the number of `early_events`, `late_events`, `warnings` or `audit` rows from before a time."""
    (found,) = await sqlfile.load("events/retention")[f"count_{what}"].one(connection, before=before)
    return int(found)


async def delete_warnings(connection: Connection, before: dt.datetime, limit: int) -> int:
    return await sqlfile.load("events/retention")["delete_warnings"].exec(connection, before=before, limit=limit)


async def delete_audit(connection: Connection, before: dt.datetime, limit: int) -> int:
    """The one place that takes rows out of the audit log."""
    await sqlfile.load("events/retention")["allow_audit"].many(connection)
    return await sqlfile.load("events/retention")["delete_audit"].exec(connection, before=before, limit=limit)


async def page(connection: Connection, what: Literal["jobs", "datasets"], after: uuid.UUID) -> list[uuid.UUID]:
    """Ids of jobs or datasets after one, in order."""
    rows = await sqlfile.load("events/retention")[f"{what}_page"].many(connection, after=after, limit=_PAGE)
    return [row[0] for row in rows]


async def old_reports(
    connection: Connection, jobs: list[uuid.UUID], before: dt.datetime, keep: int, limit: int | None
) -> list[sqlfile.Row]:
    """Return (job, report) from before a time, except the last `keep` runs and declarations of each job."""
    return await sqlfile.load("events/retention")["old_reports"].many(
        connection, jobs=jobs, before=before, keep=keep, limit=limit
    )


async def delete_reports(connection: Connection, found: list[sqlfile.Row], before: dt.datetime) -> int:
    """Delete those of `old_reports` that no transaction writes to, with all their rows; return how many."""
    queries = sqlfile.load("events/retention")
    jobs, reports = [row[0] for row in found], [row[1] for row in found]
    locked = await queries["lock_reports"].many(connection, jobs=jobs, reports=reports, before=before)
    keys = {"jobs": [row[0] for row in locked], "reports": [row[1] for row in locked]}
    held = ("datasets", "subsets", "snapshots", "foreign_edges", "statements", "columns", "checks")
    for name in (*(f"delete_report_{what}" for what in held), "delete_reports"):
        await queries[name].exec(connection, **keys)
    return len(locked)


async def old_runs(
    connection: Connection, jobs: list[uuid.UUID], before: dt.datetime, keep: int, limit: int | None
) -> list[sqlfile.Row]:
    """Return (job, run) that are silent since a time, except each job's last `keep` and those that stored rows mention."""
    return await sqlfile.load("events/retention")["old_runs"].many(
        connection, jobs=jobs, before=before, keep=keep, limit=limit
    )


async def delete_runs(connection: Connection, found: list[sqlfile.Row], before: dt.datetime) -> int:
    jobs, runs = [row[0] for row in found], [row[1] for row in found]
    queries = sqlfile.load("events/retention")
    deleted = await queries["delete_runs"].exec(connection, jobs=jobs, runs=runs, before=before)
    await queries["delete_run_labels"].exec(connection, jobs=jobs, runs=runs)
    return deleted


async def old_versions(
    connection: Connection, datasets: list[uuid.UUID], before: dt.datetime, limit: int | None
) -> list[sqlfile.Row]:
    """Return versions from before a time, except each dataset's latest and those that stored reports wrote."""
    return await sqlfile.load("events/retention")["old_versions"].many(
        connection, datasets=datasets, before=before, limit=limit
    )


async def old_event_checks(connection: Connection, before: dt.datetime, limit: int | None) -> list[sqlfile.Row]:
    """Return old results of checks that came without a run, and that later results replaced."""
    return await sqlfile.load("events/retention")["old_event_checks"].many(connection, before=before, limit=limit)


async def delete_event_checks(connection: Connection, found: list[sqlfile.Row], before: dt.datetime) -> int:
    """Delete these results; return how many."""
    runs, datasets, names, fields = map(list, zip(*found, strict=True))
    return await sqlfile.load("events/retention")["delete_event_checks"].exec(
        connection, runs=runs, datasets=datasets, names=names, fields=fields, before=before
    )


async def delete_versions(connection: Connection, found: list[sqlfile.Row], before: dt.datetime) -> int:
    ids = [row[0] for row in found]
    return await sqlfile.load("events/retention")["delete_versions"].exec(connection, ids=ids, before=before)


async def orphans(connection: Connection, what: Content, limit: int) -> list[uuid.UUID]:
    """Return content that no row refers to any more."""
    return [row[0] for row in await sqlfile.load("events/retention")[f"{what}_orphans"].many(connection, limit=limit)]


async def delete_orphans(connection: Connection, what: Content, ids: list[uuid.UUID]) -> int:
    """Delete those of `orphans` that still are; return how many.

    Writers wait meanwhile, and what processes have cached of the content is out of date afterwards.
    """
    await connection.execute("set local lock_timeout = '2s'")
    await connection.execute("set local statement_timeout = '5s'")
    await server_state.begin_rebuild(connection)
    names = {"column_set": "delete_column_sets", "facet_set": "delete_facet_sets", "facet_body": "delete_facet_bodies"}
    gone = await sqlfile.load("events/retention")[names[what]].exec(connection, ids=ids)
    if gone:
        await server_state.next_generation(connection)
    return gone


async def record(connection: Connection, kind: str, before: dt.datetime, deleted: int, error: str | None) -> None:
    """Record the outcome of deleting one kind of row, and that there was a change."""
    if deleted:
        await sqlfile.load("events/retention")["note"].exec(connection)
    await sqlfile.load("events/retention")["record"].exec(
        connection, kind=kind, before=before, deleted=deleted, error=error
    )


async def cuts(connection: Connection) -> dict[str, dt.datetime]:
    """Return the time up to which each kind was deleted the last time."""
    return dict(await sqlfile.load("events/retention")["cuts"].many(connection))
