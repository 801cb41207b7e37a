"""Feed the status of instances from the log of events: read on, understand, report, and write down how far, in one transaction.

So an event is reported once whoever is killed when, and by one process at a time. Any order of a run's events ends in the same marks, for each
event is looked at together with those of its run that came before. Refuses to hold anything up: an event that cannot be reported is passed, and said.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from headwater import telemetry
from headwater.errors import DatabaseUnavailable
from headwater.intake.listeners.deliveries import settled
from headwater.intake.status.declared import declared
from headwater.intake.status.run_events import Runs
from headwater.intake.status.run_reports import Places, Unplaced, reports
from headwater.intake.status.writing import Writing
from headwater.model.identity import Identity
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.people import listeners
from headwater.store.people.listeners import Logged, Place
from headwater.store.status import entities
from headwater.store.status import feed as store

_EVENTS = 200
_BYTES = 4 * 1024 * 1024
_SAID = 10_000


class Fed(NamedTuple):
    """`events` that were read, and what became of them: reports `taken`, `duplicate` or `refused`, runs that are `unplaced`, events that `failed`."""

    events: int
    outcomes: Counter[str]


class Feed:
    """Of one database. Any number of processes may have one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._places: tuple[object, Places] | None = None
        self._unplaced: set[Unplaced] = set()
        self._limit = _EVENTS
        self.idle = False  # nothing was declared when it looked last

    async def live(self, safe: int) -> Fed | None:
        """Feed the next events up to that number of arrival. None where another process is at it, or nothing is declared; then nothing waits."""
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
                return self._told(fed)
            except DatabaseUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - whatever an event does, the next one is fed
                if self._limit > 1:
                    self._limit = 1
                    continue
                return await self._pass(safe, error)

    async def since(self, time: dt.datetime, progress: Callable[[int], None] = lambda events: None) -> Fed:
        """Feed what has arrived by now of the log from an event time on, in the order of event times. What was fed before changes nothing.

        Where the log says nothing of instances that are declared since, it is what makes them known.
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
            self._told(fed)
            total = Fed(total.events + fed.events, total.outcomes + fed.outcomes)
            progress(total.events)

    async def _skip(self, safe: int) -> None:
        """Nothing of what has arrived is about an entity: there are none."""
        async with self._database.transaction() as connection:
            if await store.alone(connection) and (await store.place(connection)).arrived <= safe:
                await store.move(connection, Place(safe + 1))

    async def _pass(self, safe: int, error: Exception) -> Fed | None:
        """Go past the next event, which cannot be fed."""
        async with self._database.transaction() as connection:
            if not await store.alone(connection):
                return None
            events = await listeners.after(connection, await store.place(connection), safe, 1, _BYTES)
            if not events:
                return Fed(0, Counter())
            await store.move(connection, _at(events[0]))
        return self._told(_failed(events[0].digest, error))

    def _told(self, fed: Fed) -> Fed:
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
                    told = runs.told(event.digest)
                    said = reports(told, places, runs.relatives(told))
                except Exception as error:  # noqa: BLE001 - whatever an event does, the next one is fed
                    outcomes += _failed(event.digest, error).outcomes
                    continue
                if event.event_type == "COMPLETE":
                    outcomes["unplaced"] += len(said.unplaced)
                    self._say(said.unplaced)
                await writing.add(told, said, begins=event.event_type == "START")
            outcomes += await writing.end()
        return Fed(len(events), outcomes)

    async def _current(self, connection: Connection) -> Places:
        """What is declared now, under the rules that hold now."""
        held, state = await declared(connection), await server_state.read(connection)
        key = (held.id, state.rules)
        if self._places is None or self._places[0] != key:
            self._places = (key, Places(held, Identity(state.rules)))
        return self._places[1]

    def _say(self, some: Sequence[Unplaced]) -> None:
        """Once for each job."""
        for one in some:
            if one not in self._unplaced and len(self._unplaced) < _SAID:
                self._unplaced.add(one)
                telemetry.say(telemetry.StatusUnplaced(f"{one.job.namespace}/{one.job.name}", one.entity, one.why))


def _at(event: Logged) -> Place:
    return Place(event.arrived, event.event_time, event.digest)


def _failed(digest: bytes, error: Exception) -> Fed:
    telemetry.say(telemetry.StatusEventFailed(digest.hex(), repr(error)[:300]), error)
    return Fed(1, Counter(failed=1))
