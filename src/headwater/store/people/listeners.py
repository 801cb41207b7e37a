"""Listeners, and the log in the order in which it arrived (arrivals.py). Refuses to deliver anything."""

import datetime as dt
import uuid
from collections.abc import Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection

_KEPT = 1000


class Place(msgspec.Struct, frozen=True):
    """The place up to which everything is delivered. `Place(n)` is before all events with the number n."""

    arrived: int
    event_time: dt.datetime = dt.datetime.min.replace(tzinfo=dt.UTC)
    digest: bytes = b""


class Logged(msgspec.Struct, frozen=True):
    """An event of the log with its place in the order of arrival; 0: from before there was one."""

    arrived: int
    event_time: dt.datetime
    digest: bytes
    kind: str
    event_type: str | None
    received_at: dt.datetime
    body: bytes


class Listener(msgspec.Struct, frozen=True):
    """One row of `listeners`; `filter` is JSON text, the secrets are encrypted. `inside`: it may be sent events wherever its address is."""

    id: uuid.UUID
    name: str
    kind: str
    url: str | None
    secret: bytes | None
    previous_secret: bytes | None
    previous_until: dt.datetime | None
    filter: str
    created_at: dt.datetime
    created_by: str
    revision: int
    paused: bool
    place: Place
    replay: tuple[dt.datetime, bytes] | None
    delivered: int
    refused: int
    last_delivery_at: dt.datetime | None
    failing_since: dt.datetime | None
    failures: int
    last_error: str | None
    lease_owner: uuid.UUID | None
    lease_until: dt.datetime | None
    inside: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """An event that a listener refused."""

    digest: bytes
    event_time: dt.datetime
    at: dt.datetime
    reason: str


async def after(connection: Connection, place: Place, top: int, limit: int, bytes: int) -> list[Logged]:
    """Return events after a place up to the number `top`, in order of arrival; at least one, of any size, if there is one."""
    rows = await sqlfile.load("people/listeners")["after"].many(
        connection,
        arrived=place.arrived,
        event_time=place.event_time,
        digest=place.digest,
        top=top,
        limit=limit,
        bytes=bytes,
    )
    return [Logged(*row) for row in rows]


async def again(
    connection: Connection, place: Place, since: tuple[dt.datetime, bytes], limit: int, bytes: int
) -> list[Logged]:
    """Return events up to `place` that are after (event time, digest), in that order."""
    rows = await sqlfile.load("people/listeners")["again"].many(
        connection,
        from_time=since[0],
        from_digest=since[1],
        arrived=place.arrived,
        event_time=place.event_time,
        digest=place.digest,
        limit=limit,
        bytes=bytes,
    )
    return [Logged(*row) for row in rows]


async def add(
    connection: Connection,
    name: str,
    kind: str,
    *,
    url: str | None,
    secret: bytes | None,
    filter: str,
    created_by: str,
    paused: bool,
    arrived: int,
    since: dt.datetime | None,
) -> bool:
    """Keep it; False when the name is taken. It begins with the number `arrived`, and repeats what is from `since` or later before."""
    row = await sqlfile.load("people/listeners")["add"].maybe(
        connection,
        id=uuid.uuid4(),
        name=name,
        kind=kind,
        url=url,
        secret=secret,
        filter=filter,
        created_by=created_by,
        paused=paused,
        arrived=arrived,
        since=since,
    )
    return row is not None


async def all_listeners(connection: Connection) -> list[Listener]:
    return [_listener(row) for row in await sqlfile.load("people/listeners")["all"].many(connection)]


async def named(connection: Connection, name: str) -> Listener | None:
    row = await sqlfile.load("people/listeners")["named"].maybe(connection, name=name)
    return _listener(row) if row else None


async def backlog(connection: Connection, listener: Listener, limit: int) -> tuple[int, dt.datetime | None]:
    """Events that wait, counted up to `limit`, and when the one that waits longest arrived (None also if only a replay waits)."""
    queries, place = sqlfile.load("people/listeners"), listener.place
    given = {"arrived": place.arrived, "event_time": place.event_time, "digest": place.digest, "limit": limit}
    count, oldest = await queries["waiting"].one(connection, **given)
    if listener.replay:
        at, digest = listener.replay
        (more,) = await queries["to_repeat"].one(connection, from_time=at, from_digest=digest, **given)
        count += more
    return min(count, limit), oldest


async def pause(connection: Connection, name: str, paused: bool) -> bool:
    """Stop or go on, and forget the failures; False when there is none of that name. So do the next three."""
    return await sqlfile.load("people/listeners")["pause"].exec(connection, name=name, paused=paused) > 0


async def remove(connection: Connection, name: str) -> bool:
    return await sqlfile.load("people/listeners")["remove"].exec(connection, name=name) > 0


async def replay(connection: Connection, name: str, since: dt.datetime) -> bool:
    return await sqlfile.load("people/listeners")["replay"].exec(connection, name=name, since=since) > 0


async def set_secret(connection: Connection, name: str, secret: bytes | None, until: dt.datetime | None) -> bool:
    """The old one is kept until a time."""
    return (
        await sqlfile.load("people/listeners")["set_secret"].exec(connection, name=name, secret=secret, until=until) > 0
    )


async def lease(connection: Connection, owner: uuid.UUID, seconds: float) -> list[uuid.UUID]:
    """Take or keep listeners for a process; the ids of those whose lease was written now."""
    return [
        row[0] for row in await sqlfile.load("people/listeners")["lease"].many(connection, owner=owner, seconds=seconds)
    ]


async def held(connection: Connection, owner: uuid.UUID) -> list[Listener]:
    return [_listener(row) for row in await sqlfile.load("people/listeners")["held"].many(connection, owner=owner)]


async def release(connection: Connection, owner: uuid.UUID) -> None:
    await sqlfile.load("people/listeners")["release"].exec(connection, owner=owner)


async def progress(
    connection: Connection,
    listener: Listener,
    place: Place,
    replay: tuple[dt.datetime, bytes] | None,
    *,
    delivered: int,
    refused: Sequence[tuple[Logged, str]],
    error: str | None,
    gone: bool,
) -> bool:
    """Write down how far it has come, and what it would not take, in the caller's transaction. False when the listener was changed or another
    process delivers: then nothing was written. `gone`: it is paused, because it asked for that."""
    queries = sqlfile.load("people/listeners")
    written = await queries["progress"].exec(
        connection,
        id=listener.id,
        owner=listener.lease_owner,
        revision=listener.revision,
        arrived=place.arrived,
        event_time=place.event_time,
        digest=place.digest,
        replay_time=replay[0] if replay else None,
        replay_digest=replay[1] if replay else None,
        delivered=delivered,
        refused=len(refused),
        error=_clean(error) if error is not None else None,
        gone=gone,
    )
    if written and refused:
        await queries["refuse"].exec(
            connection,
            id=listener.id,
            digests=[event.digest for event, _ in refused],
            times=[event.event_time for event, _ in refused],
            reasons=[_clean(reason) for _, reason in refused],
        )
        await queries["forget"].exec(connection, id=listener.id, keep=_KEPT)
    return written > 0


async def refusals(connection: Connection, listener: Listener, limit: int) -> list[Refusal]:
    """Return the listener's refusals, the latest first."""
    rows = await sqlfile.load("people/listeners")["refusals"].many(connection, id=listener.id, limit=limit)
    return [Refusal(*row) for row in rows]


def _listener(row: sqlfile.Row) -> Listener:
    first, (arrived, event_time, digest, replay_time, replay_digest) = row[:12], row[12:17]
    replay = (replay_time, bytes(replay_digest)) if replay_time is not None else None
    return Listener(*(*first, Place(arrived, event_time, digest), replay, *row[17:]))


def _clean(text: str) -> str:
    """Return the text as PostgreSQL can store it, cut to 1,000 characters."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:1000]
