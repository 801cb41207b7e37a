"""Listeners, the progress of each, and the events it refused. Never returns a secret."""

import datetime as dt
from typing import Literal

import msgspec

from headwater.errors import NotFound
from headwater.store.database import Connection, Database
from headwater.store.people import listeners as store

_COUNTED = 10_000


class ListenerView(msgspec.Struct, frozen=True):
    """A listener as it may be shown.

    `backlog`: events it has not been sent or passed over, counted up to 10,000 (`backlog_more`: there are more). `lag_seconds`: how long the one that
    waits longest has been in the log. `replaying_from`: the event time that a replay has reached. `delivering`: a server has it in hand.
    """

    name: str
    kind: str
    url: str | None
    filter: msgspec.Raw
    state: Literal["active", "failing", "paused"]
    backlog: int
    backlog_more: bool
    lag_seconds: float
    replaying_from: dt.datetime | None
    delivered: int
    refused: int
    last_delivery_at: dt.datetime | None
    failing_since: dt.datetime | None
    failures: int
    last_error: str | None
    has_secret: bool
    old_secret_until: dt.datetime | None
    delivering: bool
    created_at: dt.datetime
    created_by: str


class ListenerList(msgspec.Struct, frozen=True):
    listeners: list[ListenerView]


class RefusalView(msgspec.Struct, frozen=True):
    """An event that a listener refused: its identity (hex), its time, the time of the refusal, and the receiver's answer."""

    event: str
    event_time: dt.datetime
    at: dt.datetime
    reason: str


class OneListener(msgspec.Struct, frozen=True):
    """A listener with the last 100 refusals of the 1,000 that are kept."""

    listener: ListenerView
    refusals: list[RefusalView]


async def listeners(database: Database) -> ListenerList:
    """Return all listeners, by name."""
    async with database.connection() as connection:
        return ListenerList([await _listener_view(connection, one) for one in await store.all_listeners(connection)])


async def listener(database: Database, name: str) -> OneListener:
    """Return one listener. Raises NotFound."""
    async with database.connection() as connection:
        found = await store.named(connection, name)
        if found is None:
            raise NotFound(f"no listener is called {name!r}; `headwater events listeners list` shows them", name=name)
        refused = await store.refusals(connection, found, 100)
        return OneListener(
            await _listener_view(connection, found),
            [RefusalView(one.digest.hex(), one.event_time, one.at, one.reason) for one in refused],
        )


async def figures(database: Database) -> list[tuple[str, int, float, bool]]:
    """Return (name, backlog, lag in seconds, whether it fails) of each listener, for the metrics. One statement if there is no listener."""
    return [
        (one.name, one.backlog, one.lag_seconds, one.state == "failing")
        for one in (await listeners(database)).listeners
    ]


async def _listener_view(connection: Connection, one: store.Listener) -> ListenerView:
    now = dt.datetime.now(dt.UTC)
    backlog, oldest = await store.backlog(connection, one, _COUNTED + 1)
    old = one.previous_until if one.previous_until and one.previous_until > now else None
    return ListenerView(
        name=one.name,
        kind=one.kind,
        url=one.url,
        filter=msgspec.Raw(one.filter.encode()),
        state="paused" if one.paused else "failing" if one.failing_since else "active",
        backlog=min(backlog, _COUNTED),
        backlog_more=backlog > _COUNTED,
        lag_seconds=round(max((now - oldest).total_seconds(), 0.0), 3) if oldest else 0.0,
        replaying_from=one.replay[0] if one.replay else None,
        delivered=one.delivered,
        refused=one.refused,
        last_delivery_at=one.last_delivery_at,
        failing_since=one.failing_since,
        failures=one.failures,
        last_error=one.last_error,
        has_secret=one.secret is not None,
        old_secret_until=old,
        delivering=one.lease_until is not None and one.lease_until > now and not one.paused,
        created_at=one.created_at,
        created_by=one.created_by,
    )
