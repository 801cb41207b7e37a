"""Send the messages that are due, in the background of a server.

A message is decided in one transaction and sent after it, by one process at a time: a lease says which. If the process dies before it sends,
another one sends. If it dies after the receiver took the message and before that is noted, the message is sent again under the same id.
"""

import asyncio
import uuid
from collections.abc import Sequence

import msgspec

from headwater import telemetry
from headwater.client.retries import pause
from headwater.entities.alerts.messages import SHAPES, TroubleText, alert_text
from headwater.entities.alerts.rules import CHANNEL
from headwater.errors import DatabaseUnavailable
from headwater.intake.alerts.sending import Receiver, SendOutcome
from headwater.intake.listeners.deliveries import in_thread
from headwater.store.alerts import alerts as alert_store
from headwater.store.alerts import channels as channel_store
from headwater.store.alerts import messages as store
from headwater.store.alerts.alerts import Member, StoredAlert
from headwater.store.alerts.messages import LeasedMessage
from headwater.store.database import Connection, Database

_AT_ONCE = 20
_LONGEST_PAUSE = 300.0
MAIL = "mail"


class Sender:
    """`public_url`: where a browser reaches the page, if anywhere. `lease_seconds`: after a process died, another one sends what it had taken."""

    def __init__(self, database: Database, receiver: Receiver, *, public_url: str | None, lease_seconds: float) -> None:
        self._database, self._receiver = database, receiver
        self._public_url = (public_url or "").rstrip("/") or None
        self._lease_seconds = lease_seconds
        self.owner = uuid.uuid4()

    async def send_due(self) -> int:
        """Send what is due, each once; return how many messages were tried."""
        async with self._database.transaction() as connection:
            leased = await store.lease(
                connection, self.owner, self._lease_seconds, _AT_ONCE, mail=self._receiver.sends_mail
            )
            bodies = await self._bodies(connection, leased)
            channels = {one.name: one for one in await channel_store.all_channels(connection)} if leased else {}
        outcomes = await asyncio.gather(*(self._send(one, bodies[one.id], channels) for one in leased))
        for one, outcome in zip(leased, outcomes, strict=True):
            await self._note(one, outcome)
        return len(leased)

    async def _bodies(self, connection: Connection, leased: Sequence[LeasedMessage]) -> dict[uuid.UUID, str]:
        """Return the body of each message: made at its first try, and stored."""
        fresh = {one.alert for one in leased if one.body is None}
        alerts = {each.id: each for id_ in fresh for each in await alert_store.named(connection, str(id_))}
        members = await alert_store.members(connection, fresh)
        kinds = {one.name: one.kind for one in await channel_store.all_channels(connection)} if fresh else {}
        bodies = {}
        for one in leased:
            body = one.body
            if body is None:
                kind = (
                    kinds.get(one.address.removeprefix(CHANNEL), "webhook") if one.address.startswith(CHANNEL) else MAIL
                )
                body = self._text(one, kind, alerts[one.alert], members.get(one.alert, []))
                if kind == MAIL or one.address.removeprefix(CHANNEL) in kinds:
                    body = await store.set_body(connection, one.id, body)
            bodies[one.id] = body
        return bodies

    def _text(self, one: LeasedMessage, kind: str, alert: StoredAlert, members: Sequence[Member]) -> str:
        url = f"{self._public_url}/alerts/{alert.id}" if self._public_url else None
        cause = _trouble_text(alert)
        told = alert_text(
            str(alert.id), one.rule, one.severity, one.stage, cause, [_trouble_text(each) for each in members], url
        )
        return msgspec.json.encode(SHAPES[kind](told)).decode()

    async def _send(
        self, one: LeasedMessage, text: str, channels: dict[str, channel_store.StoredChannel]
    ) -> SendOutcome:
        body = msgspec.json.decode(text)
        if not one.address.startswith(CHANNEL):
            return await in_thread(lambda: self._receiver.mail(one.id, one.alert, one.address, body))
        name = one.address.removeprefix(CHANNEL)
        channel = channels.get(name)
        if channel is None:
            return SendOutcome(f"no channel is called {name!r}; add it with `headwater rules channels add`")
        return await in_thread(lambda: self._receiver.post(one.id, channel, body))

    async def _note(self, one: LeasedMessage, outcome: SendOutcome) -> None:
        where = one.address.removeprefix(CHANNEL) if one.address.startswith(CHANNEL) else MAIL
        result = "sent" if outcome.error is None else "refused" if outcome.refused else "failed"
        while True:
            try:
                await self._store(one, where, outcome)
                break
            except DatabaseUnavailable:
                await asyncio.sleep(1.0)  # retry, because the outcome must not be lost: the message would be sent again
        telemetry.measure(telemetry.AlertMessage(where, result))
        if outcome.error is not None and one.attempts == 1:
            telemetry.say(telemetry.AlertMessageFailing(where, outcome.error))

    async def _store(self, one: LeasedMessage, where: str, outcome: SendOutcome) -> None:
        async with self._database.transaction() as connection:
            if outcome.error is None:
                await store.sent(connection, one.id, self.owner)
            else:
                # What a receiver asks for is an hour at most (`client.connection.retry_after`).
                seconds = max(pause(one.attempts, 2.0, _LONGEST_PAUSE), outcome.retry_after or 0.0)
                await store.failed(
                    connection, one.id, self.owner, outcome.error, refused=outcome.refused, seconds=seconds
                )
            if where != MAIL:
                await channel_store.outcome(connection, where, outcome.error)


def _trouble_text(one: StoredAlert | Member) -> TroubleText:
    return TroubleText(one.event, one.subject, one.label, one.since, one.until, one.text, one.look)
