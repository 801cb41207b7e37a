"""Delete records that are older than the retention policy; without a policy, nothing.

It never blocks other work: each batch is its own transaction that waits at most two seconds for a lock, records in use are left for the next run,
and an error with one kind of record does not stop the others. An interrupted run is continued by the next one. Edges, schemas and the latest
record of everything stay at any age, so current answers do not change.
"""

import asyncio
import datetime as dt
import random
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal

import msgspec

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.store.database import Connection, Database
from headwater.store.events import retention as store

_BATCH = 1000
# The number of a job's last reports that stay at any age: they support its edges.
_LATEST_REPORTS = 10
_CONTENT: tuple[store.Content, ...] = ("column_set", "facet_set", "facet_body")


class Policy(msgspec.Struct, frozen=True):
    """The days for which each kind of record is stored; None: for ever."""

    events: int | None = None
    runs: int | None = None
    warnings: int | None = None
    audit: int | None = None

    def __bool__(self) -> bool:
        return any(days is not None for days in (self.events, self.runs, self.warnings, self.audit))


class Outcome(msgspec.Struct):
    """The outcome for one kind. `deleted`: rows (for dropped months, PostgreSQL's estimate). `months`: the partitions that were dropped."""

    kind: str
    before: dt.datetime
    deleted: int = 0
    months: list[str] = []
    error: str | None = None


class Report(msgspec.Struct, frozen=True):
    """`busy`: another process is running retention, so nothing was done. `dry_run`: nothing was deleted; the counts leave out runs and versions that
    can only be deleted after their reports."""

    dry_run: bool
    busy: bool
    kinds: list[Outcome]


async def run(
    database: Database,
    policy: Policy,
    *,
    dry_run: bool = False,
    now: dt.datetime | None = None,
) -> Report:
    """Delete records that are older than the policy. An error with one kind is in its outcome. Raises what the first connection raises."""
    at = now or dt.datetime.now(dt.UTC)
    work = _Deletion(database, _LATEST_REPORTS, dry_run)
    kinds: list[tuple[str, int | None, Callable[[Outcome], Coroutine[Any, Any, None]]]] = [
        ("events", policy.events, work.events),
        ("warnings", policy.warnings, work.warnings),
        ("audit", policy.audit, work.audit),
        ("reports", policy.runs, work.reports),
        ("dataset_versions", policy.runs, work.versions),
        ("runs", policy.runs, work.runs),
        ("content", policy.runs, work.content),
    ]
    outcomes = []
    async with database.connection() as lock:
        if not await store.try_lock(lock):
            return Report(dry_run, True, [])
        try:
            for kind, days, step in kinds:
                if days is not None:
                    outcome = Outcome(kind, at - dt.timedelta(days=days))
                    await _guarded(database, step, outcome)
                    outcomes.append(outcome)
        finally:
            await store.unlock(lock)
    return Report(dry_run, False, outcomes)


async def _guarded(database: Database, step: Callable[[Outcome], Coroutine[Any, Any, None]], outcome: Outcome) -> None:
    try:
        await step(outcome)
    except HeadwaterError as error:
        outcome.error = error.message
        with suppress(HeadwaterError):  # the error is in the outcome and the log anyway; the database may be its cause
            async with database.connection() as connection:
                await store.record(connection, outcome.kind, outcome.before, outcome.deleted, error.message)
        telemetry.say(telemetry.RetentionFailed(outcome.kind, error.message))


class _Deletion:
    def __init__(self, database: Database, keep: int, dry_run: bool) -> None:
        self._database, self._keep, self._dry_run = database, keep, dry_run

    async def _count(self, outcome: Outcome, *whats: str) -> None:
        async with self._database.connection() as connection:
            for what in whats:
                outcome.deleted += await store.count(connection, what, outcome.before)

    async def _batches(self, outcome: Outcome, delete: Callable[[Connection], Coroutine[Any, Any, int]]) -> None:
        """Run batches until one deletes nothing."""
        gone = 1
        while gone:
            async with self._database.transaction() as connection:
                await store.begin(connection)
                gone = await delete(connection)
                outcome.deleted += gone
                await store.record(connection, outcome.kind, outcome.before, outcome.deleted, None)

    async def events(self, outcome: Outcome) -> None:
        async with self._database.connection() as connection:
            months = await store.months(connection, outcome.before)
        for name, events in months:
            if not self._dry_run:
                async with self._database.transaction() as connection:
                    await store.begin(connection)
                    await store.drop_month(connection, name)
                    await store.record(connection, outcome.kind, outcome.before, outcome.deleted + events, None)
            outcome.months.append(name)
            outcome.deleted += events
        if self._dry_run:
            await self._count(outcome, "early_events", "late_events")
        else:
            await self._batches(outcome, lambda c: store.delete_odd_events(c, outcome.before, _BATCH))

    async def warnings(self, outcome: Outcome) -> None:
        if self._dry_run:
            await self._count(outcome, "warnings")
        else:
            await self._batches(outcome, lambda c: store.delete_warnings(c, outcome.before, _BATCH))

    async def audit(self, outcome: Outcome) -> None:
        if self._dry_run:
            await self._count(outcome, "audit")
        else:
            await self._batches(outcome, lambda c: store.delete_audit(c, outcome.before, _BATCH))

    async def reports(self, outcome: Outcome) -> None:
        # A DatasetEvent's declaration is a report too, with the dataset's id in place of a job's.
        async for ids in self._pages("jobs", "datasets"):
            await self._find_and_delete(
                outcome,
                lambda c, limit, ids=ids: store.old_reports(c, ids, outcome.before, self._keep, limit),
                store.delete_reports,
            )
        await self._find_and_delete(
            outcome, lambda c, limit: store.old_event_checks(c, outcome.before, limit), store.delete_event_checks
        )

    async def versions(self, outcome: Outcome) -> None:
        async for ids in self._pages("datasets"):
            await self._find_and_delete(
                outcome,
                lambda c, limit, ids=ids: store.old_versions(c, ids, outcome.before, limit),
                store.delete_versions,
            )

    async def runs(self, outcome: Outcome) -> None:
        async for ids in self._pages("jobs"):
            await self._find_and_delete(
                outcome,
                lambda c, limit, ids=ids: store.old_runs(c, ids, outcome.before, self._keep, limit),
                store.delete_runs,
            )

    async def _pages(self, *whats: Literal["jobs", "datasets"]) -> AsyncIterator[list[uuid.UUID]]:
        for what in whats:
            after = uuid.UUID(int=0)
            while True:
                async with self._database.connection() as connection:
                    ids = await store.page(connection, what, after)
                if not ids:
                    break
                yield ids
                after = ids[-1]

    async def _find_and_delete(self, outcome: Outcome, find: Any, delete: Any) -> None:
        """Find and delete in one transaction, until there is nothing left to delete."""

        async def batch(connection: Connection) -> int:
            old = await find(connection, _BATCH)
            return int(await delete(connection, old, outcome.before)) if old else 0

        if self._dry_run:
            async with self._database.connection() as connection:
                outcome.deleted += len(await find(connection, None))
        else:
            await self._batches(outcome, batch)

    async def content(self, outcome: Outcome) -> None:
        for what in _CONTENT:
            gone = 1
            while gone:
                async with self._database.connection() as connection:
                    ids = await store.orphans(connection, what, 1_000_000 if self._dry_run else _BATCH * 10)
                if self._dry_run or not ids:
                    outcome.deleted += len(ids)
                    break
                async with self._database.transaction() as connection:
                    gone = await store.delete_orphans(connection, what, ids)
                    outcome.deleted += gone
                    await store.record(connection, outcome.kind, outcome.before, outcome.deleted, None)


async def delete_again(connection: Connection) -> None:
    """Delete what the last run of retention was to delete, in a transaction that keeps writers out: the log, which is kept for other days, tells of
    runs that were deleted. Does nothing if no run ever deleted runs.
    """
    keep = _LATEST_REPORTS
    cuts = await store.cuts(connection)
    if (before := cuts.get("reports")) is not None:
        pages = [each async for each in _all_pages(connection, "jobs")]
        # A DatasetEvent's declaration is a report too, with the dataset's id in place of a job's.
        pages += [each async for each in _all_pages(connection, "datasets")]
        for ids in pages:
            found = await store.old_reports(connection, ids, before, keep, None)
            await store.delete_reports(connection, found, before)
        if old_checks := await store.old_event_checks(connection, before, None):
            await store.delete_event_checks(connection, old_checks, before)
    if (before := cuts.get("dataset_versions")) is not None:
        for ids in [each async for each in _all_pages(connection, "datasets")]:
            await store.delete_versions(connection, await store.old_versions(connection, ids, before, None), before)
    if (before := cuts.get("runs")) is not None:
        for ids in [each async for each in _all_pages(connection, "jobs")]:
            await store.delete_runs(connection, await store.old_runs(connection, ids, before, keep, None), before)
    if "content" in cuts:
        for content in _CONTENT:
            while found_content := await store.orphans(connection, content, _BATCH * 10):
                await store.delete_orphans(connection, content, found_content)
        await connection.execute("set local statement_timeout = 0")


async def _all_pages(connection: Connection, what: Literal["jobs", "datasets"]) -> AsyncIterator[list[uuid.UUID]]:
    after = uuid.UUID(int=0)
    while ids := await store.page(connection, what, after):
        yield ids
        after = ids[-1]


async def run_periodically(database: Database, policy: Policy, *, minutes: float) -> None:
    """Run retention in the background of a server, until cancelled. Random waits make the servers on one database take turns."""
    while True:
        await asyncio.sleep(minutes * 60 * random.uniform(0.5, 1.5))  # noqa: S311
        try:
            report = await run(database, policy)
        except HeadwaterError as error:
            telemetry.say(telemetry.RetentionFailed("all", error.message))
            continue
        for outcome in report.kinds:
            if outcome.deleted:
                telemetry.say(telemetry.RetentionDone(outcome.kind, outcome.deleted))


def begin(database: Database, policy: Policy, *, minutes: float) -> "asyncio.Task[None] | None":
    """Start `run_periodically`; None without a policy."""
    if not policy:
        return None
    retention = run_periodically(database, policy, minutes=minutes)
    return asyncio.create_task(retention, name="background: retention")


async def end(task: "asyncio.Task[None] | None") -> None:
    """Stop it; the running batch is rolled back."""
    if task is not None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
