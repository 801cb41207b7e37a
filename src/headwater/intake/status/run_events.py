"""Load the runs of some events from the log: all events of these runs, and of the runs above them."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from headwater.intake.status.run_reports import above
from headwater.intake.status.run_summary import LoggedEvent, RunSummary, summarise_run
from headwater.model.event import Facets, read
from headwater.model.names import JobName
from headwater.store.database import Connection
from headwater.store.people.listeners import Logged
from headwater.store.status import feed as store

_OF_A_RUN, _BYTES = 100, 4 * 1024 * 1024
# The time before and after the given events in which the other events of their runs are searched.
_APART = dt.timedelta(days=32)
_EARLIEST, _LATEST = dt.datetime(1, 3, 1, tzinfo=dt.UTC), dt.datetime(9999, 11, 1, tzinfo=dt.UTC)

_Order = tuple[int, dt.datetime, bytes]


class _OrderedEvent(NamedTuple):
    order: _Order
    event: LoggedEvent


class Runs:
    """Summarises the run of an event, up to that event. `live`: events are ordered by arrival; otherwise by event time."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._of: dict[bytes, tuple[uuid.UUID, JobName]] = {}
        self._events: dict[tuple[uuid.UUID, JobName], dict[bytes, _OrderedEvent]] = defaultdict(dict)
        self._unreadable: dict[bytes, Exception] = {}

    @classmethod
    async def of(cls, connection: Connection, events: Sequence[Logged], *, live: bool) -> "Runs":
        """Load the runs of these events, at least one."""
        runs = cls(live=live)
        for event in events:
            runs._add(event.arrived, event.event_time, event.digest, event.received_at, event.body)
        times = [min(max(event.event_time, _EARLIEST), _LATEST) for event in events]
        first, last = min(times) - _APART, max(times) + _APART
        ids = {run for run, _ in runs._events}
        await runs._load(connection, ids, first, last)
        relatives = {id_ for key in list(runs._events) for id_ in above(runs._summarise(key))}
        await runs._load(connection, relatives - ids, first, last)
        return runs

    async def _load(self, connection: Connection, ids: set[uuid.UUID], first: dt.datetime, last: dt.datetime) -> None:
        for event in await store.of_runs(connection, sorted(ids), first, last, _OF_A_RUN, _BYTES):
            self._add(event.arrived, event.event_time, event.digest, event.received_at, event.body)

    def _add(self, arrived: int, at: dt.datetime, digest: bytes, received_at: dt.datetime, body: bytes) -> None:
        if digest in self._of or digest in self._unreadable:
            return
        try:
            event = read(body)
        except Exception as error:  # noqa: BLE001 - `summary_at` raises it
            self._unreadable[digest] = error
            return
        if event.run_id is not None and event.job is not None:
            key = self._of[digest] = (event.run_id, event.job)
            order = (arrived if self._live else 0, at, digest)
            self._events[key][digest] = _OrderedEvent(order, LoggedEvent(event, at, digest, received_at))

    def _summarise(self, key: tuple[uuid.UUID, JobName], until: _Order | None = None) -> RunSummary:
        return summarise_run(e.event for e in self._events[key].values() if until is None or e.order <= until)

    def summary_at(self, digest: bytes) -> RunSummary:
        """The summary of an event's run up to that event. Raises the error with which reading the event failed."""
        if digest in self._unreadable:
            raise self._unreadable[digest]
        key = self._of[digest]
        return self._summarise(key, self._events[key][digest].order)

    def relatives(self, summary: RunSummary) -> list[Facets]:
        """The facets of the run's parent and root, as far as their events are loaded."""
        return [self._summarise(key).facets for id_ in above(summary) for key in list(self._events) if key[0] == id_]
