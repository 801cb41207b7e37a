"""Look for what rules watch, and send messages, in the background of each server. No error here stops the intake of events, or the other half.

One server at a time looks: the claim of a look is a row that is written. If it dies, the next look of any server begins where the last one that was
stored ended.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from headwater import telemetry
from headwater.errors import HeadwaterError
from headwater.intake.alerts.sender import Sender
from headwater.intake.privacy.policies import record_violations
from headwater.model.alerts import Alert, AlertHistory
from headwater.model.troubles import Window
from headwater.store.alerts import alerts as store
from headwater.store.alerts.alerts import OpenMember
from headwater.store.database import Connection, Database
from headwater.store.privacy.violations import FoundViolation

_BACK = dt.timedelta(days=1)
"""An event that arrives later than this after its time raises no alert."""
_LATE_BACK = dt.timedelta(minutes=10)
_LONGEST = dt.timedelta(days=7)
"""If no server looked for longer, what began before is not told."""
_KNOWN = dt.timedelta(days=45)
_MOST_OPEN = 1_000
_SEND_SECONDS = 1.0


class Question(msgspec.Struct, frozen=True):
    """A look: the window, since when lateness is looked for, whether measurements are, and the troubles told before."""

    window: Window
    late_since: dt.datetime
    measured: bool
    known: AlertHistory


class Answers(msgspec.Struct, frozen=True):
    """The questions that the alerter asks: what the rules tell, what breaks policies, and which troubles have ended."""

    decide: Callable[[Question], Awaitable[Sequence[Alert]]]
    broken: Callable[[], Awaitable[Sequence[FoundViolation] | None]]
    ended: Callable[[Connection, Sequence[OpenMember]], Awaitable[dict[uuid.UUID, dt.datetime]]]


class Alerter:
    """Looks every `every` seconds, at measurements every ten minutes, until it is stopped."""

    def __init__(self, database: Database, answers: Answers, sender: Sender | None, *, every: float) -> None:
        self._database, self._answers, self._sender, self._every = database, answers, sender, every
        self._trouble: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ending = False

    def start(self) -> None:
        self._tasks.append(
            asyncio.create_task(self._repeat("look", self._look, self._every), name="background: alerts")
        )
        if self._sender is not None:
            self._tasks.append(
                asyncio.create_task(self._repeat("send", self._send, _SEND_SECONDS), name="background: alert messages")
            )

    async def stop(self) -> None:
        """Stop. A look is begun again after the next start; messages that were taken are sent when their lease is over."""
        self._ending = True
        while running := [task for task in self._tasks if not task.done()]:
            # Cancel repeatedly: a cancelled query may raise a database error, which the loop ignores.
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=0.5)

    async def _repeat(self, name: str, work: Callable[[], Awaitable[None]], seconds: float) -> None:
        while not self._ending:
            try:
                await work()
                self._trouble.pop(name, None)
            except Exception as error:  # noqa: BLE001 - neither a rule nor a channel may stop the server; the error is logged and shown
                message = error.message if isinstance(error, HeadwaterError) else repr(error)
                if self._trouble.get(name) != message:
                    telemetry.say(telemetry.AlertsHeldUp(name, message[:500]))
                self._trouble[name] = message
                with suppress(HeadwaterError):
                    async with self._database.transaction() as connection:
                        await store.seen(connection, None, None, message[:2000])
            await asyncio.sleep(seconds)

    async def _look(self) -> None:
        async with self._database.transaction() as connection:
            claimed = await store.claim(connection, self._every / 2)
        if claimed is not None:
            await self.look_since(*claimed)

    async def look_since(self, seen: dt.datetime, measured: dt.datetime) -> int:
        """Look at what happened since a time, and store what the rules tell of it. Returns how many messages are new."""
        if (broken := await self._answers.broken()) is not None:
            await record_violations(self._database, broken)
        now = dt.datetime.now(dt.UTC)
        slow = now - measured >= dt.timedelta(minutes=10)
        seen = min(max(seen, now - _LONGEST), now)
        window = Window(seen - _BACK, now)
        async with self._database.snapshot() as connection:
            known = await store.load_told(connection, now - _KNOWN)
        alerts = await self._answers.decide(Question(window, seen - _LATE_BACK, slow, known))
        new = 0
        async with self._database.transaction() as connection:
            for alert in alerts:
                new += (await store.add(connection, alert))[1]
            await store.seen(connection, now, now if slow else None, None)
        await self._end()
        return new

    async def _end(self) -> None:
        """Note which troubles have ended."""
        async with self._database.transaction() as connection:
            members = await store.open_members(connection, _MOST_OPEN)
            ended = await self._answers.ended(connection, members) if members else {}
            if ended:
                await store.end(connection, ended)

    async def _send(self) -> None:
        assert self._sender is not None
        while await self._sender.send_due():
            pass


def begin(database: Database, answers: Answers, sender: Sender | None, *, every: float) -> Alerter:
    """Start in the running loop."""
    alerter = Alerter(database, answers, sender, every=every)
    alerter.start()
    return alerter


async def end(alerter: Alerter | None) -> None:
    """Stop the alerter, if there is one."""
    if alerter is not None:
        await alerter.stop()
