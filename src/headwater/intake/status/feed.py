"""Feed instance status from the event log: read the next events, derive reports, record them and advance the position, in one transaction.

So each event is reported exactly once, even if a process is killed, and by one process at a time. Each event is applied together with the earlier
events of its run, so any order of them ends in the same marks. An event that cannot be applied is logged and skipped; it never blocks the feed.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from headwater import telemetry
from headwater.errors import DatabaseUnavailable
from headwater.intake.status.declared import declared
from headwater.intake.status.run_events import Runs
from headwater.intake.status.run_reports import Places, Unplaced, reports
from headwater.intake.status.writing import Writing
from headwater.model.identity import Identity
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.events.arrivals import settled
from headwater.store.people import listeners
from headwater.store.people.listeners import Logged, Place
from headwater.store.status import entities
from headwater.store.status import feed as store

_EVENTS = 200
_BYTES = 4 * 1024 * 1024
_MOST_UNPLACED = 10_000


class Fed(NamedTuple):
    """`events`: how many were read. `outcomes`: counts of reports `taken`, `duplicate` and `refused`, runs `unplaced`, events `failed`."""

    events: int
    outcomes: Counter[str]


class Feed:
    """The feed of one database. Any number of processes may run one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._places: tuple[object, Places] | None = None
        self._unplaced: set[Unplaced] = set()
        self._limit = _EVENTS
        self.idle = False  # no entity was declared at the last look

    async def live(self, safe: int) -> Fed | None:
        """Feed the next events up to this arrival number. None if another process feeds, or no entity is declared."""
        async with self._database.connection() as connection:
            self.idle = await entities.applied(connection) is None
        if self.idle:
            await self._skip(safe)
            return None
        while True:
            try:
                async with self._database.transaction() as connection:
                    if not await store.alone(connection):
                        return None
                    place = await store.place(connection)
                    events = await listeners.after(connection, place, safe, self._limit, _BYTES)
                    fed = await self._feed(connection, events, live=True)
                    if events:
                        await store.move(connection, _at(events[-1]))
                self._limit = min(2 * self._limit, _EVENTS)
                return self._measure(fed)
            except DatabaseUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - one bad event must not block the feed
                if self._limit > 1:
                    self._limit = 1
                    continue
                return await self._skip_next(safe, error)

    async def since(self, time: dt.datetime, progress: Callable[[int], None] = lambda events: None) -> Fed:
        """Feed the events that have arrived so far, from an event time on and ordered by it. Events that were fed before change nothing.

        Use it to backfill the status of entities that were declared after their events arrived.
        """
        top = Place(await settled(self._database) + 1)
        at, limit = (time, b""), _EVENTS
        total = Fed(0, Counter())
        while True:
            events: list[Logged] = []
            try:
                async with self._database.transaction() as connection:
                    events = await listeners.again(connection, top, at, limit, _BYTES)
                    if not events:
                        return total
                    fed = await self._feed(connection, events, live=False)
            except DatabaseUnavailable:
                raise
            except Exception as error:
                if limit > 1:
                    limit = 1
                    continue
                if not events:
                    raise
                fed = _failed(events[0].digest, error)
            at, limit = (events[-1].event_time, events[-1].digest), min(2 * limit, _EVENTS)
            self._measure(fed)
            total = Fed(total.events + fed.events, total.outcomes + fed.outcomes)
            progress(total.events)

    async def _skip(self, safe: int) -> None:
        """Advance past all events up to `safe` while no entity is declared."""
        async with self._database.transaction() as connection:
            if await store.alone(connection) and (await store.place(connection)).arrived <= safe:
                await store.move(connection, Place(safe + 1))

    async def _skip_next(self, safe: int, error: Exception) -> Fed | None:
        """Advance past the next event, which cannot be applied."""
        async with self._database.transaction() as connection:
            if not await store.alone(connection):
                return None
            events = await listeners.after(connection, await store.place(connection), safe, 1, _BYTES)
            if not events:
                return Fed(0, Counter())
            await store.move(connection, _at(events[0]))
        return self._measure(_failed(events[0].digest, error))

    def _measure(self, fed: Fed) -> Fed:
        telemetry.measure(telemetry.StatusFed(fed.events, dict(fed.outcomes)))
        return fed

    async def _feed(self, connection: Connection, events: Sequence[Logged], *, live: bool) -> Fed:
        outcomes: Counter[str] = Counter()
        of_runs = [event for event in events if event.kind == "run"]
        if of_runs:
            places = await self._current(connection)
            runs = await Runs.of(connection, of_runs, live=live)
            writing = Writing(connection, places.held, live=live)
            for event in of_runs:
                try:
                    summary = runs.summary_at(event.digest)
                    derived = reports(summary, places, runs.relatives(summary))
                except Exception as error:  # noqa: BLE001 - one bad event must not block the feed
                    outcomes += _failed(event.digest, error).outcomes
                    continue
                if event.event_type == "COMPLETE":
                    outcomes["unplaced"] += len(derived.unplaced)
                    self._log_unplaced(derived.unplaced)
                await writing.add(summary, derived, begins=event.event_type == "START")
            outcomes += await writing.end()
        return Fed(len(events), outcomes)

    async def _current(self, connection: Connection) -> Places:
        """The current declarations under the current identity rules."""
        held, state = await declared(connection), await server_state.read(connection)
        key = (held.id, state.rules)
        if self._places is None or self._places[0] != key:
            self._places = (key, Places(held, Identity(state.rules)))
        return self._places[1]

    def _log_unplaced(self, unplaced: Sequence[Unplaced]) -> None:
        """Log each job, entity and reason once."""
        for run in unplaced:
            if run not in self._unplaced and len(self._unplaced) < _MOST_UNPLACED:
                self._unplaced.add(run)
                telemetry.say(telemetry.StatusUnplaced(f"{run.job.namespace}/{run.job.name}", run.entity, run.why))


def _at(event: Logged) -> Place:
    return Place(event.arrived, event.event_time, event.digest)


def _failed(digest: bytes, error: Exception) -> Fed:
    telemetry.say(telemetry.StatusEventFailed(digest.hex(), repr(error)[:300]), error)
    return Fed(1, Counter(failed=1))
