"""Deliver the log to its listeners, in the background of a server and independent of accepting events.

Any number of servers may deliver for one database: a listener is leased to one of them at a time, and a lease that is not renewed expires. Delivery
is at least once, in order of arrival: the position is stored after the receiver has answered. A receiver cannot block another one, or the server.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec

from headwater import telemetry
from headwater.client.retries import pause
from headwater.errors import DatabaseUnavailable, HeadwaterError
from headwater.intake.listeners import destinations
from headwater.intake.listeners.filter import Filter
from headwater.intake.listeners.networks import Outbound
from headwater.store.database import Database
from headwater.store.events.arrivals import Horizon
from headwater.store.people import listeners as store
from headwater.store.people.listeners import Listener, Logged, Place

T = TypeVar("T")

_BYTES = 4 * 1024 * 1024
_LONGEST_PAUSE = 300.0


class Pace(msgspec.Struct, frozen=True):
    """The most events of a request, the seconds it may take, the duration of a lease, and the seconds between looks without a wake-up call."""

    batch_events: int = 100
    timeout_seconds: float = 30.0
    lease_seconds: float = 15.0
    look_seconds: float = 1.0
    idle_seconds: float = 5.0
    # Between two looks while events arrive continuously.
    rest_seconds: float = 0.1


class Deliverer:
    """The listeners to which this process delivers, and the end of the log, for which they all wait."""

    def __init__(self, database: Database, pace: Pace, outbound: Outbound) -> None:
        self.database, self.pace, self.outbound = database, pace, outbound
        self.owner = uuid.uuid4()
        self.horizon = Horizon(database)
        self.called = asyncio.Event()
        self._deliveries: dict[uuid.UUID, Delivery] = {}
        self._trouble = False
        self._looked = -float("inf")

    def changed(self) -> None:
        """Look at once, because a listener was added or changed."""
        self._looked = -float("inf")
        self.called.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            while True:
                try:
                    complete = await self._round()
                    self._trouble = False
                except HeadwaterError as error:
                    if not self._trouble:
                        telemetry.say(telemetry.ListenersHeldUp(error.message))
                    self._trouble, complete = True, True
                await self._rest(complete)
        finally:
            await asyncio.gather(*(delivery.stop() for delivery in self._deliveries.values()))
            with suppress(HeadwaterError):  # the leases expire anyway
                async with self.database.connection() as connection:
                    await store.release(connection, self.owner)

    async def _rest(self, complete: bool) -> None:
        """Wait for a wake-up call or the next look. `complete`: no transaction was still writing at the last look."""
        pace = self.pace
        if not self._deliveries:
            # Without listeners, events do not wake it; a change of a listener does.
            await _within(self.called, pace.idle_seconds)
        elif complete:
            await _within(self.called, pace.look_seconds)
        self.called.clear()
        await asyncio.sleep(pace.rest_seconds if self._deliveries else 0)

    def events_came(self) -> None:
        if self._deliveries:
            self.called.set()

    async def _round(self) -> bool:
        if time.monotonic() - self._looked >= self.pace.look_seconds:
            await self._lease()
            self._looked = time.monotonic()
        if not self._deliveries:
            return True
        before, complete = self.horizon.safe, await self.horizon.look()
        if self.horizon.safe != before:
            for delivery in self._deliveries.values():
                delivery.more.set()
        return complete

    async def _lease(self) -> None:
        async with self.database.connection() as connection:
            written = await store.lease(connection, self.owner, self.pace.lease_seconds)
            held = await store.held(connection, self.owner) if written or self._deliveries else []
        now = {listener.id: listener for listener in held}
        for id, delivery in list(self._deliveries.items()):
            listener = now.get(id)
            if listener is None or listener.revision != delivery.listener.revision or delivery.ended():
                await delivery.stop()
                # Only after it has ended: if this task is cancelled meanwhile, `run` stops the deliveries that are still listed.
                del self._deliveries[id]
        for id, listener in now.items():
            if id not in self._deliveries:
                self._deliveries[id] = Delivery(self, listener)


class Delivery:
    """The delivery to one listener: read the next events, send them, store the position, wait."""

    def __init__(self, deliverer: Deliverer, listener: Listener) -> None:
        self.listener = listener
        self.more = asyncio.Event()
        self._deliverer = deliverer
        self._database, self._pace = deliverer.database, deliverer.pace
        self._place, self._replay = listener.place, listener.replay
        self._filter = Filter()
        self._failures = listener.failures
        self._destination: destinations.Destination | None = None
        self._sending: asyncio.Future[destinations.Outcome] | None = None
        self._task = asyncio.create_task(self._run(), name="background: delivery")

    def ended(self) -> bool:
        return self._task.done()

    async def stop(self) -> None:
        """End it. Events that are being sent will be sent again by the next owner of the lease."""
        self._task.cancel()
        if self._destination:
            self._destination.abort()
        results = await asyncio.gather(self._task, return_exceptions=True)
        for error in results:
            if isinstance(error, Exception):
                telemetry.say(telemetry.ListenerFailing(self.listener.name, repr(error)), error)
        if self._destination:
            if self._sending:  # aborting closes the socket at once; only a Python listener may take longer
                await ended(self._sending, self._destination, 1.0)
            else:
                self._destination.close()

    async def _run(self) -> None:
        self._filter = Filter.read(self.listener.filter)
        while True:
            try:
                events = await self._read()
                if events is None:
                    await _within(self.more, 60.0)
                    self.more.clear()
                elif not await self._deliver(events):
                    return
            except HeadwaterError:  # a database error, which `Deliverer.run` gets and logs too
                await asyncio.sleep(1.0)

    async def _read(self) -> list[Logged] | None:
        """The next events; None if all are delivered."""
        limit = self._pace.batch_events
        async with self._database.connection() as connection:
            if self._replay:
                if events := await store.again(connection, self._place, self._replay, limit, _BYTES):
                    return events
                self._replay = None
                await self._save(0, [], None)
            # Every event up to `safe` is committed, and later events have higher numbers.
            return await store.after(connection, self._place, self._deliverer.horizon.safe, limit, _BYTES) or None

    async def _deliver(self, events: Sequence[Logged]) -> bool:
        """Send events until each is delivered or refused. Returns False if this process must stop delivering to the listener."""
        wanted = [event for event in events if self._filter.wants(event)]
        while wanted:
            outcome = await self._send(wanted)
            done, wanted = wanted[: outcome.settled], wanted[outcome.settled :]
            refused = [(done[index], reason) for index, reason in outcome.refused]
            if done and wanted:
                self._advance(done[-1])
            elif done:
                self._advance(events[-1])
            self._measure(len(done) - len(refused), len(refused), outcome)
            ours = await self._save(len(done) - len(refused), refused, outcome.failure, gone=outcome.gone)
            if not ours or outcome.gone:
                return False
            if outcome.failure:
                await asyncio.sleep(self._pause(outcome.retry_after))
            if not wanted:
                return True
        self._advance(events[-1])
        return await self._save(0, [], None)

    async def _send(self, events: Sequence[Logged]) -> destinations.Outcome:
        if self._destination is None:
            try:
                self._destination = await in_thread(
                    lambda: destinations.open_destination(
                        self.listener, self._pace.timeout_seconds, self._deliverer.outbound
                    )
                )
            except HeadwaterError as error:
                return destinations.Outcome(failure=error.message)
        destination, seconds = self._destination, self._pace.timeout_seconds
        self._sending = asyncio.ensure_future(in_thread(lambda: destination.send(events)))
        late = False
        while not (await asyncio.wait({self._sending}, timeout=min(seconds, 1.0)))[0]:
            if not late and destination.waiting() > seconds:
                late = True
                telemetry.say(telemetry.ListenerFailing(self.listener.name, f"no answer within {seconds:g} s"))
                await self._save(0, [], f"no answer within {seconds:g} s")
                destination.abort()
        if late:
            destination.close()
            self._destination = None
        return self._sending.result()

    def _advance(self, event: Logged) -> None:
        if self._replay:
            self._replay = (event.event_time, event.digest)
        else:
            self._place = Place(event.arrived, event.event_time, event.digest)

    async def _save(
        self, delivered: int, refused: Sequence[tuple[Logged, str]], error: str | None, *, gone: bool = False
    ) -> bool:
        while True:
            try:
                async with self._database.transaction() as connection:
                    return await store.progress(
                        connection,
                        self.listener,
                        self._place,
                        self._replay,
                        delivered=delivered,
                        refused=refused,
                        error=error,
                        gone=gone,
                    )
            except DatabaseUnavailable:
                await asyncio.sleep(1.0)  # retry, because the outcome must not be lost; `Deliverer.run` logs the error

    def _measure(self, delivered: int, refused: int, outcome: destinations.Outcome) -> None:
        name = self.listener.name
        telemetry.measure(telemetry.Delivered(name, delivered, refused, int(outcome.failure is not None)))
        if outcome.failure and not self._failures:
            telemetry.say(telemetry.ListenerFailing(name, outcome.failure))
        elif not outcome.failure and self._failures:
            telemetry.say(telemetry.ListenerRecovered(name))
        self._failures = self._failures + 1 if outcome.failure else 0

    def _pause(self, asked: float | None) -> float:
        """The seconds until the next try: doubled at each failure up to five minutes, with a random part so that listeners do not retry at once."""
        return max(pause(self._failures, 0.5, _LONGEST_PAUSE), min(asked or 0.0, _LONGEST_PAUSE))


async def ended(
    sending: "asyncio.Future[destinations.Outcome]", destination: destinations.Destination, patience: float
) -> bool:
    """Wait for an aborted send. Returns whether it has ended; the destination is closed as soon as it ends, even later."""
    done, _ = await asyncio.wait({sending}, timeout=patience)
    if done:
        destination.close()
    else:
        sending.add_done_callback(lambda _: destination.close())
    return bool(done)


async def in_thread(call: Callable[[], T]) -> T:
    """Run `call` in its own daemon thread and return its result. A call that hangs blocks neither other threads nor the end of the process."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def resolve(result: T | None, error: BaseException | None) -> None:
        if not answer.done():
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

    def run_call() -> None:
        result, raised = None, None
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - raised again in the awaiting task
            raised = error
        with suppress(RuntimeError):  # the loop has ended, and with it the awaiting task
            loop.call_soon_threadsafe(resolve, result, raised)

    threading.Thread(target=run_call, name="headwater-listener", daemon=True).start()
    return await answer


async def _within(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Running:
    """The background task that `begin` started."""

    def __init__(self, deliverer: Deliverer) -> None:
        self.deliverer = deliverer
        self._task = asyncio.create_task(deliverer.run(), name="background: deliveries")
        self._quiet = telemetry.listen(self._measured)

    def _measured(self, figures: telemetry.Measured) -> None:
        if isinstance(figures, telemetry.Projected):
            self.deliverer.events_came()

    async def stop(self) -> None:
        self._quiet()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def begin(database: Database, pace: Pace, outbound: Outbound) -> Running:
    """Start delivering in the running loop."""
    return Running(Deliverer(database, pace, outbound))


async def end(running: Running | None) -> None:
    """Stop. Events that are being sent will be sent again after the next start."""
    if running is not None:
        await running.stop()
