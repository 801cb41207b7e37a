"""Feed status in the background of each server; one server at a time feeds. Errors never stop the feeder."""

import asyncio
from contextlib import suppress

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.status.feed import Feed
from headwater.store.database import Database
from headwater.store.events.arrivals import Horizon

# Seconds between looks without a wake-up call: for events that other processes accepted, and while no entity is declared.
_LOOK_SECONDS = 1.0
_IDLE_SECONDS = 5.0
# Seconds between two looks while events arrive continuously.
_REST_SECONDS = 0.1


class Feeder:
    """Follows the log until it is stopped."""

    def __init__(self, database: Database) -> None:
        self._feed = Feed(database)
        self._horizon = Horizon(database)
        self._called = asyncio.Event()
        self._asleep = False
        self._trouble = False
        self._ending = False
        self._task = asyncio.create_task(self._run(), name="background: status feeder")
        self._quiet = telemetry.listen(self._measured)

    async def stop(self) -> None:
        """Stop. The transaction in progress is rolled back; its events are fed after the next start."""
        self._quiet()
        self._ending = True
        while not self._task.done():
            # Cancel repeatedly: a cancelled query may raise a database error, which the loop ignores.
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.5)
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    def _measured(self, figures: telemetry.Measured) -> None:
        if isinstance(figures, telemetry.Projected) and not self._asleep:
            self._called.set()

    async def _run(self) -> None:
        while not self._ending:
            seconds = _LOOK_SECONDS
            try:
                seconds = await self._round()
                self._trouble = False
            except HeadwaterError as error:
                if not self._trouble:
                    telemetry.say(telemetry.StatusFeedHeldUp(error.message))
                self._trouble = True
            self._asleep = seconds == _IDLE_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._called.wait()
            self._called.clear()
            await asyncio.sleep(_REST_SECONDS)

    async def _round(self) -> float:
        """Feed all readable events. Returns the seconds until the next look."""
        complete = await self._horizon.look()
        while (fed := await self._feed.live(self._horizon.safe)) is not None:
            if not fed.events:
                return _LOOK_SECONDS if complete else _REST_SECONDS
        return _IDLE_SECONDS if self._feed.idle else _LOOK_SECONDS


def begin(database: Database) -> Feeder:
    """Start feeding in the running loop."""
    return Feeder(database)


async def end(feeder: Feeder | None) -> None:
    """Stop the feeder, if there is one."""
    if feeder is not None:
        await feeder.stop()
