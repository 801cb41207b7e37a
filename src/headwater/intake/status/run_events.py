"""The runs that some events are of: their other events, and those of the runs above them, as the log has them."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from headwater.intake.status.run_reports import above
from headwater.intake.status.run_summary import Heard, RunTold, told
from headwater.model.event import Facets, read
from headwater.model.names import JobName
from headwater.store.database import Connection
from headwater.store.people.listeners import Logged
from headwater.store.status import feed as store

_OF_A_RUN, _BYTES = 100, 4 * 1024 * 1024
# Events of a run are looked for so long before and after those at hand.
_APART = dt.timedelta(days=32)
_EARLIEST, _LATEST = dt.datetime(1, 3, 1, tzinfo=dt.UTC), dt.datetime(9999, 11, 1, tzinfo=dt.UTC)

_Order = tuple[int, dt.datetime, bytes]


class _Kept(NamedTuple):
    order: _Order
    heard: Heard


class Runs:
    """`live`: events are in the order in which they arrived; otherwise in that of their times. An event is seen with those of its run before it."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._of: dict[bytes, tuple[uuid.UUID, JobName]] = {}
        self._kept: dict[tuple[uuid.UUID, JobName], dict[bytes, _Kept]] = defaultdict(dict)
        self._wrong: dict[bytes, Exception] = {}

    @classmethod
    async def of(cls, connection: Connection, events: Sequence[Logged], *, live: bool) -> "Runs":
        """At least one event."""
        made = cls(live=live)
        for one in events:
            made._add(one.arrived, one.event_time, one.digest, one.received_at, one.body)
        times = [min(max(one.event_time, _EARLIEST), _LATEST) for one in events]
        first, last = min(times) - _APART, max(times) + _APART
        asked = {run for run, _ in made._kept}
        await made._more(connection, asked, first, last)
        relatives = {id_ for key in list(made._kept) for id_ in above(made._together(key))}
        await made._more(connection, relatives - asked, first, last)
        return made

    async def _more(self, connection: Connection, ids: set[uuid.UUID], first: dt.datetime, last: dt.datetime) -> None:
        for one in await store.of_runs(connection, sorted(ids), first, last, _OF_A_RUN, _BYTES):
            self._add(one.arrived, one.event_time, one.digest, one.received_at, one.body)

    def _add(self, arrived: int, at: dt.datetime, digest: bytes, received_at: dt.datetime, body: bytes) -> None:
        if digest in self._of or digest in self._wrong:
            return
        try:
            event = read(body)
        except Exception as error:  # noqa: BLE001 - raised again by who asks for it
            self._wrong[digest] = error
            return
        if event.run_id is not None and event.job is not None:
            key = self._of[digest] = (event.run_id, event.job)
            order = (arrived if self._live else 0, at, digest)
            self._kept[key][digest] = _Kept(order, Heard(event, at, digest, received_at))

    def _together(self, key: tuple[uuid.UUID, JobName], until: _Order | None = None) -> RunTold:
        return told(one.heard for one in self._kept[key].values() if until is None or one.order <= until)

    def told(self, digest: bytes) -> RunTold:
        """What the run of an event had said with that event. Raises what reading the event raised."""
        if digest in self._wrong:
            raise self._wrong[digest]
        key = self._of[digest]
        return self._together(key, self._kept[key][digest].order)

    def relatives(self, one: RunTold) -> list[Facets]:
        """What is known of the run above a run, and of its root."""
        return [self._together(key).facets for id_ in above(one) for key in list(self._kept) if key[0] == id_]
