"""Feed status beside answering: what each server does, of which one at a time has something to do. Nothing that goes wrong ends it."""

import asyncio
from contextlib import suppress

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.listeners.deliveries import Horizon
from headwater.intake.status.feed import Feed
from headwater.store.database import Database

# How often is looked when nothing calls: for events that other processes took in; and where nothing is declared.
_LOOK_SECONDS = 1.0
_IDLE_SECONDS = 5.0
# Between two looks when events come all the time.
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
        self._task = asyncio.create_task(self._again_and_again(), name="background: status feeder")
        self._quiet = telemetry.listen(self._measured)

    async def stop(self) -> None:
        """What is under way is rolled back, and fed after the next start."""
        self._quiet()
        self._ending = True
        while not self._task.done():
            # Again, for a cancelled query may come back as an error of the database, which is not heeded here.
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.5)
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise error

    def _measured(self, figures: telemetry.Measured) -> None:
        if isinstance(figures, telemetry.Projected) and not self._asleep:
            self._called.set()

    async def _again_and_again(self) -> None:
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
        """Feed all that may be read; seconds until there may be more."""
        known = await self._horizon.look()
        while (fed := await self._feed.live(self._horizon.safe)) is not None:
            if not fed.events:
                return _LOOK_SECONDS if known else _REST_SECONDS
        return _IDLE_SECONDS if self._feed.idle else _LOOK_SECONDS


def begin(database: Database) -> Feeder:
    """Start feeding in the running loop."""
    return Feeder(database)


async def end(feeder: Feeder | None) -> None:
    """Stop it, where there is one."""
    if feeder is not None:
        await feeder.stop()
