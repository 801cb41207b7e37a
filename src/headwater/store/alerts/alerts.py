"""Alerts: their causes, the troubles that they tell, and the planned messages. Decides nothing."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping
from typing import NamedTuple

from headwater.model.alerts import Alert, AlertHistory
from headwater.model.troubles import LASTING
from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "alerts/alerts"
_MESSAGES = uuid.UUID("d5f0b9a8-53b1-5d5c-8c5f-0d7d5a0b3c44")


class StoredAlert(NamedTuple):
    """`until`: when the cause ended; null while it lasts, and of what does not last."""

    id: uuid.UUID
    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    look: str
    decided_at: dt.datetime
    unaddressed: list[str]
    acknowledged_at: dt.datetime | None
    acknowledged_by: str | None
    note: str
    muted_until: dt.datetime | None
    muted_by: str | None


class Member(NamedTuple):
    alert: uuid.UUID
    id: uuid.UUID
    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    look: str
    rules: list[str]


class StoredMessage(NamedTuple):
    alert: uuid.UUID
    id: uuid.UUID
    rule: str
    stage: int
    address: str
    severity: str
    due_at: dt.datetime
    state: str
    attempts: int
    sent_at: dt.datetime | None
    last_error: str | None


class OpenMember(NamedTuple):
    id: uuid.UUID
    event: str
    subject: str
    node: uuid.UUID | None
    since: dt.datetime


async def claim(connection: Connection, seconds: float) -> tuple[dt.datetime, dt.datetime] | None:
    """Claim the next look; return up to where was seen, also of measurements. None if another process looked within so many seconds."""
    row = await sqlfile.load(_QUERIES)["claim"].maybe(connection, seconds=seconds)
    return (row[0], row[1]) if row else None


async def seen(
    connection: Connection, until: dt.datetime | None, measured: dt.datetime | None, trouble: str | None
) -> None:
    """Note up to where was seen, or what went wrong."""
    await sqlfile.load(_QUERIES)["seen"].exec(connection, seen=until, measured=measured, trouble=trouble)


async def state(connection: Connection) -> tuple[dt.datetime, dt.datetime, str | None]:
    """Return when a server last looked, up to where it has seen, and what went wrong."""
    looked, until, trouble = await sqlfile.load(_QUERIES)["state"].one(connection)
    return looked, until, trouble


async def load_told(connection: Connection, since: dt.datetime) -> AlertHistory:
    """Return the troubles told that began since a time."""
    rows = await sqlfile.load(_QUERIES)["known"].many(connection, since=since)
    times: dict[tuple[str, str], list[dt.datetime]] = {}
    for _, event, subject, at in rows:
        times.setdefault((event, subject), []).append(at)
    return AlertHistory(frozenset(row[0] for row in rows), {key: tuple(some) for key, some in times.items()})


async def add(connection: Connection, alert: Alert) -> tuple[int, int]:
    """Store an alert, its troubles and its messages, each once; return how many troubles and messages are new."""
    queries, cause = sqlfile.load(_QUERIES), alert.cause
    await queries["add"].exec(
        connection, id=cause.id, event=cause.event, subject=cause.subject, label=cause.label, node=cause.node, since=cause.since, until=cause.until,
        text=_clean(cause.text), look=cause.look, unaddressed=list(alert.unaddressed),
    )  # fmt: skip
    told = [one.trouble for one in alert.members]
    members = await queries["add_members"].many(
        connection, alert=cause.id, ids=[one.id for one in told], events=[one.event for one in told],
        subjects=[one.subject for one in told], labels=[one.label for one in told], nodes=[one.node for one in told],
        sinces=[one.since for one in told], untils=[one.until for one in told], texts=[_clean(one.text) for one in told],
        looks=[one.look for one in told], rules=["\n".join(one.rules) for one in alert.members],
    )  # fmt: skip
    if not members:
        return 0, 0
    planned = alert.planned
    messages = await queries["add_messages"].many(
        connection, alert=cause.id, ids=[message_id(cause.id, one.stage, one.address) for one in planned],
        rules=[one.rule for one in planned], stages=[one.stage for one in planned], addresses=[one.address for one in planned],
        severities=[one.severity for one in planned], dues=[one.due_at for one in planned],
    )  # fmt: skip
    return len(members), len(messages)


def message_id(alert: uuid.UUID, stage: int, address: str) -> uuid.UUID:
    """Return the id of a message: the same in every process that plans it."""
    return uuid.uuid5(_MESSAGES, f"{alert}\n{stage}\n{address}")


async def open_members(connection: Connection, limit: int) -> list[OpenMember]:
    """Return the troubles, and the causes that no rule watches, that last as far as is known; the latest first."""
    rows = await sqlfile.load(_QUERIES)["open_members"].many(connection, events=list(LASTING), limit=limit)
    return [OpenMember(*row[:5]) for row in rows]


async def end(connection: Connection, ended: Mapping[uuid.UUID, dt.datetime]) -> None:
    """Note when troubles ended."""
    await sqlfile.load(_QUERIES)["end"].exec(connection, ids=list(ended), untils=list(ended.values()))


async def page(
    connection: Connection, *, open_only: bool, subject: str | None, since: dt.datetime | None, limit: int, offset: int
) -> tuple[list[StoredAlert], int]:
    """Return alerts, the latest first, and how many there are."""
    rows = await sqlfile.load(_QUERIES)["page"].many(
        connection, open=open_only, lasting=list(LASTING), subject=subject, since=since, limit=limit, offset=offset
    )
    return [StoredAlert(*row[:15]) for row in rows], rows[0][15] if rows else 0


async def named(connection: Connection, prefix: str) -> list[StoredAlert]:
    """Return the alert with this id, or those (at most two) whose ids begin so."""
    return [StoredAlert(*row[:15]) for row in await sqlfile.load(_QUERIES)["named"].many(connection, prefix=prefix)]


async def members(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Member]]:
    found: dict[uuid.UUID, list[Member]] = {}
    for row in await sqlfile.load(_QUERIES)["members"].many(connection, ids=list(ids)) if ids else ():
        found.setdefault(row[0], []).append(Member(*row))
    return found


async def messages(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[StoredMessage]]:
    found: dict[uuid.UUID, list[StoredMessage]] = {}
    for row in await sqlfile.load(_QUERIES)["messages"].many(connection, ids=list(ids)) if ids else ():
        found.setdefault(row[0], []).append(StoredMessage(*row))
    return found


async def acknowledge(connection: Connection, id_: uuid.UUID, by: str, note: str) -> None:
    """Note that a person looks after it, unless one does already; escalations that wait are dropped."""
    await sqlfile.load(_QUERIES)["acknowledge"].exec(connection, id=id_, by=by, note=note)


async def mute(connection: Connection, id_: uuid.UUID, until: dt.datetime | None, by: str) -> None:
    await sqlfile.load(_QUERIES)["mute"].exec(connection, id=id_, until=until, by=by)


def _clean(text: str) -> str:
    """Return the text as PostgreSQL can store it, cut to 2,000 characters."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:2000]
