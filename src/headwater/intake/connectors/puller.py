"""Pull connectors when they are due, in the background of each server: one at a time, each by one server.

A lease says which server pulls; it is renewed while the pull lasts. If that server dies, another one pulls again from the last complete pull: events
that come twice are accepted once or change nothing. After a failure the next try waits twice as long each time, at most as long as the schedule or an
hour, whichever is longer. No error here stops the intake of events.
"""

import asyncio
import datetime as dt
import uuid
from contextlib import suppress

import msgspec

from headwater import telemetry
from headwater.client.retries import pause
from headwater.errors import DatabaseUnavailable, HeadwaterError
from headwater.intake.connectors.working import run_task
from headwater.intake.events.accept import Intake
from headwater.model.connector_reports import ConnectorTask
from headwater.store.connectors import connectors as store
from headwater.store.connectors.connectors import LeasedConnector, PullRow
from headwater.store.database import Database
from headwater.store.people.secrets import SecretKey

_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0
_PERMANENT_PAUSE = 6 * 3600.0
"""Seconds after a failure that a person must mend, such as a wrong password: trying again and again locks accounts."""


class PullPace(msgspec.Struct, frozen=True):
    """`every`: seconds between two looks at what is due. `timeout`: of one pull. `lease`: after a server died, another one pulls."""

    every: float
    timeout: float
    lease: float


class Puller:
    """Pulls what is due, or asked for, until it is stopped. `wake` makes it look now."""

    def __init__(
        self, database: Database, intake: Intake, key: SecretKey, pace: PullPace, *, folder: str, url: str | None
    ) -> None:
        self._database, self._intake, self._key, self._pace = database, intake, key, pace
        self._folder, self._url = folder, url
        self._task: asyncio.Task[None] | None = None
        self._trouble: str | None = None
        self.wake = asyncio.Event()
        self.owner = uuid.uuid4()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="background: connectors")

    async def stop(self) -> None:
        """Stop; a running pull is given up, and done again by the next server that looks."""
        if self._task is None:
            return
        while not self._task.done():
            # Cancel repeatedly: a cancelled query may raise a database error, which the loop ignores.
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.5)

    async def _run(self) -> None:
        while True:
            try:
                while await self.pull_due() is not None:
                    pass
                self._trouble = None
            except Exception as error:  # noqa: BLE001 - no connector may stop the server; the error is logged
                message = error.message if isinstance(error, HeadwaterError) else repr(error)
                if self._trouble != message:
                    telemetry.say(telemetry.ConnectorsHeldUp(message[:500]))
                self._trouble = message
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.every):
                    await self.wake.wait()
            self.wake.clear()

    async def pull_due(self) -> PullRow | None:
        """Pull the connector that was asked for, or is due first; None if there is none."""
        async with self._database.transaction() as connection:
            leased = await store.lease(connection, self.owner, self._pace.lease)
        return None if leased is None else await self._pull(leased)

    async def _pull(self, leased: LeasedConnector) -> PullRow:
        began = dt.datetime.now(dt.UTC)
        renewing = asyncio.create_task(self._renew(leased.name), name="background: lease of a connector")
        try:
            row, cursor, permanent = await self._read(leased, began)
        except BaseException:
            with suppress(HeadwaterError):
                async with self._database.transaction() as connection:
                    await store.release(connection, leased.name, self.owner)
            raise
        finally:
            renewing.cancel()
        await self._note(leased, row, cursor, permanent)
        telemetry.measure(telemetry.ConnectorPulled(leased.name, row.rows, row.error is not None))
        if row.error is not None and not leased.failures:
            telemetry.say(telemetry.ConnectorFailing(leased.name, row.error[:500]))
        return row

    async def _read(
        self, leased: LeasedConnector, began: dt.datetime
    ) -> tuple[PullRow, dict[str, object] | None, bool]:
        """Run the pull. Returns what it did, the new cursor (None stays as it was), and whether an error is permanent."""
        try:
            secrets = (
                msgspec.json.decode(self._key.decrypt(leased.secrets), type=dict[str, str]) if leased.secrets else {}
            )
        except HeadwaterError as error:
            return _row(leased.name, began, error=error.message), None, True
        task = ConnectorTask(
            "pull", leased.kind, leased.name, {**leased.options, **secrets}, leased.cursor,
            f"{self._folder}/{leased.name}", self._url,
        )  # fmt: skip
        ending = await run_task(task, self._accept, self._pace.timeout)
        report, failure = ending.line.report, ending.line.failure
        if report is None:
            message = failure.message if failure else "its process ended without a report"
            row = _row(leased.name, began, events=ending.events, refused=ending.refused, error=message)
            return row, None, failure is not None and failure.permanent
        return (
            PullRow(
                leased.name, began, dt.datetime.now(dt.UTC), report.rows, ending.events + report.published, ending.refused, report.newest_at,
                list(report.warnings), None,
            ),
            report.cursor,
            False,
        )  # fmt: skip

    async def _accept(self, events: list[bytes]) -> int:
        while True:
            try:
                return len((await self._intake.accept_each(events)).refused)
            except DatabaseUnavailable:
                await asyncio.sleep(1.0)  # the process waits; what was sent twice is accepted once

    async def _renew(self, name: str) -> None:
        while True:
            await asyncio.sleep(self._pace.lease / 3)
            with suppress(HeadwaterError):
                async with self._database.transaction() as connection:
                    await store.renew(connection, name, self.owner, self._pace.lease)

    async def _note(
        self, leased: LeasedConnector, row: PullRow, cursor: dict[str, object] | None, permanent: bool
    ) -> None:
        seconds = float(leased.every_seconds)
        if row.error is not None:
            longest = max(seconds, _LONGEST_PAUSE)
            seconds = max(seconds, _PERMANENT_PAUSE) if permanent else pause(leased.failures + 1, _FIRST_PAUSE, longest)
        while True:
            try:
                async with self._database.transaction() as connection:
                    await store.finish(connection, self.owner, row, cursor, seconds)
                return
            except DatabaseUnavailable:
                await asyncio.sleep(1.0)


def _row(name: str, began: dt.datetime, *, events: int = 0, refused: int = 0, error: str) -> PullRow:
    return PullRow(name, began, dt.datetime.now(dt.UTC), 0, events, refused, None, [], error)
