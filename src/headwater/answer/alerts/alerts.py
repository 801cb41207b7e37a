"""The alerts: what each tells, who was told, and what became of the messages."""

import datetime as dt
import uuid

import msgspec

from headwater.errors import Ambiguous, NotFound
from headwater.store.alerts import alerts as store
from headwater.store.alerts import channels as channel_store
from headwater.store.alerts import messages as message_store
from headwater.store.database import Connection, Database


class WatchedText(msgspec.Struct, frozen=True):
    """A trouble that rules watch, as people read it."""

    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    rules: list[str]


class AlertMember(WatchedText, frozen=True):
    """A trouble that the cause of an alert explains. `look`: the command that shows it."""

    look: str


class AlertMessage(msgspec.Struct, frozen=True):
    """`stage`: 0, or the number of an escalation. `state`: waiting, sent, refused or dropped (acknowledged or over before it was due)."""

    id: str
    rule: str
    stage: int
    address: str
    due_at: dt.datetime
    state: str
    attempts: int
    sent_at: dt.datetime | None
    last_error: str | None


class AlertView(msgspec.Struct, frozen=True):
    """One cause. `until`: when it ended; null while it lasts, and of what does not last. `unaddressed`: people and teams that have no address."""

    id: str
    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    look: str
    decided_at: dt.datetime
    acknowledged_at: dt.datetime | None
    acknowledged_by: str | None
    note: str
    muted_until: dt.datetime | None
    muted_by: str | None
    unaddressed: list[str]
    members: list[AlertMember]
    messages: list[AlertMessage]


class Alerts(msgspec.Struct, frozen=True):
    """The latest first. `messages`: all messages by state; `failing`: those that wait and failed before."""

    total: int
    alerts: list[AlertView]
    messages: dict[str, int]
    failing: int


class ChannelView(msgspec.Struct, frozen=True):
    """A channel without its address, which is its key. `failing_since`: null while it takes messages."""

    name: str
    kind: str
    created_at: dt.datetime
    created_by: str
    delivered: int
    last_delivery_at: dt.datetime | None
    failing_since: dt.datetime | None
    failures: int
    last_error: str | None


class Channels(msgspec.Struct, frozen=True):
    channels: list[ChannelView]


async def alerts(
    database: Database,
    *,
    open_only: bool = False,
    subject: str | None = None,
    since: dt.datetime | None = None,
    limit: int = 100,
    offset: int = 0,
) -> Alerts:
    """Return alerts; `open_only`: those that are neither acknowledged nor over."""
    async with database.snapshot() as connection:
        found, total = await store.page(
            connection, open_only=open_only, subject=subject, since=since, limit=limit, offset=offset
        )
        counts = await message_store.counts(connection)
        views = await _views(connection, found)
    return Alerts(
        total, views, {state: count for state, (count, _) in counts.items()}, counts.get("waiting", (0, 0))[1]
    )


async def alert(database: Database, id_: str) -> AlertView:
    """Return one alert, by its id or a beginning of it that only one has. Raises NotFound, Ambiguous."""
    async with database.snapshot() as connection:
        return (await _views(connection, [await find_alert(connection, id_)]))[0]


async def find_alert(connection: Connection, id_: str) -> store.StoredAlert:
    """Find an alert by its id or a beginning of it of at least four characters. Raises NotFound, Ambiguous."""
    plain = id_.strip().lower()
    readable = len(plain) >= 4 and all(char in "0123456789abcdef-" for char in plain)
    found = await store.named(connection, plain) if readable else []
    if not found:
        raise NotFound(f"there is no alert {id_[:100]!r}; list them with `headwater alerts list`", id=id_[:100])
    if len(found) > 1:
        raise Ambiguous(
            f"several alerts begin with {id_!r}; give more of the id", candidates=[str(one.id) for one in found]
        )
    return found[0]


async def channels(database: Database) -> Channels:
    """Return the channels, by name."""
    async with database.snapshot() as connection:
        found = await channel_store.all_channels(connection)
    return Channels(
        [
            ChannelView(
                one.name, one.kind, one.created_at, one.created_by, one.delivered, one.last_delivery_at, one.failing_since, one.failures,
                one.last_error,
            )
            for one in found
        ]
    )  # fmt: skip


async def _views(connection: Connection, found: list[store.StoredAlert]) -> list[AlertView]:
    ids: list[uuid.UUID] = [one.id for one in found]
    members, messages = await store.members(connection, ids), await store.messages(connection, ids)
    return [
        AlertView(
            str(one.id), one.event, one.subject, one.label, one.since, one.until, one.text, one.look, one.decided_at, one.acknowledged_at,
            one.acknowledged_by, one.note, one.muted_until, one.muted_by, one.unaddressed,
            [
                AlertMember(each.event, each.subject, each.label, each.since, each.until, each.text, each.rules, each.look)
                for each in members.get(one.id, [])
            ],
            [
                AlertMessage(
                    str(each.id), each.rule, each.stage, each.address, each.due_at, each.state, each.attempts, each.sent_at, each.last_error
                )
                for each in messages.get(one.id, [])
            ],
        )
        for one in found
    ]  # fmt: skip
