"""Add, change and try listeners. Each change is written down in the transaction that makes it; secrets are shown once and never again."""

import asyncio
import base64
import binascii
import datetime as dt
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import entry_points
from urllib.parse import urlsplit

import msgspec

from headwater.errors import HeadwaterError, InvalidQuestion, NotFound
from headwater.intake.listeners import destinations
from headwater.intake.listeners.deliveries import ended, in_thread, settled
from headwater.intake.listeners.filter import Filter
from headwater.intake.people.audit import Change
from headwater.store.database import Connection, Database
from headwater.store.people import audit as audit_store
from headwater.store.people import listeners as store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ROTATION = dt.timedelta(hours=24)


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A listener to be. `kind`: webhook, openlineage, marquez, datahub, openmetadata, or `python:` and the name of an entry point.

    `secret`: what a webhook is signed with (`whsec_…`; made when there is none), else the API key that is sent. `since`: repeat what has this
    event time or a later one before what comes from now on.
    """

    name: str
    kind: str
    url: str | None = None
    secret: str | None = None
    filter: Filter = Filter()
    since: dt.datetime | None = None
    paused: bool = False


class Added(msgspec.Struct, frozen=True):
    """`secret` is the only copy of one that was made here."""

    name: str
    secret: str | None


class Tried(msgspec.Struct, frozen=True):
    """What became of one ping. `said`: what the receiver answered, or why it did not."""

    name: str
    ok: bool
    said: str
    seconds: float


async def add(database: Database, wanted: Wanted, *, by: Change) -> Added:
    """Keep a listener. Every event that is accepted after this came back is delivered to it.

    Raises InvalidQuestion on what cannot be meant, a name that is taken, or an entry point that is not there.
    """
    if not _NAME.fullmatch(wanted.name):
        raise InvalidQuestion(
            "a listener's name is 1 to 63 letters, digits, dots, dashes and underscores", name=wanted.name[:100]
        )
    _check_kind(wanted)
    told, secret = _secret(wanted.kind, wanted.secret)
    filter = msgspec.json.encode(wanted.filter.checked()).decode()
    arrived = await settled(database) + 1
    async with database.transaction() as connection:
        kept = await store.add(
            connection,
            wanted.name,
            wanted.kind,
            url=wanted.url,
            secret=secret,
            filter=filter,
            created_by=by.actor,
            paused=wanted.paused,
            arrived=arrived,
            since=_utc(wanted.since),
        )
        if not kept:
            raise InvalidQuestion(f"a listener is already called {wanted.name!r}", name=wanted.name)
        await audit_store.append(connection, by)
    return Added(wanted.name, told)


async def pause(database: Database, name: str, *, by: Change) -> None:
    """Deliver nothing until `resume`; what arrives waits. Raises NotFound, as do all that follow."""
    await _change(database, name, by, lambda connection: store.pause(connection, name, True))


async def resume(database: Database, name: str, *, by: Change) -> None:
    """Go on where it stopped; one that was failing is tried at once."""
    await _change(database, name, by, lambda connection: store.pause(connection, name, False))


async def remove(database: Database, name: str, *, by: Change) -> None:
    await _change(database, name, by, lambda connection: store.remove(connection, name))


async def replay(database: Database, name: str, since: dt.datetime, *, by: Change) -> None:
    """Deliver again, in order of event time, what has this event time or a later one; then go on."""
    at = _utc(since)
    assert at is not None
    await _change(database, name, by, lambda connection: store.replay(connection, name, at))


async def rotate(database: Database, name: str, given: str | None, *, by: Change) -> Added:
    """A new secret. A webhook is signed with the old one too for a day. Raises InvalidQuestion for a listener that has none."""
    async with database.connection() as connection:
        listener = await store.named(connection, name)
    if listener is None:
        raise _unknown(name)
    if listener.kind.startswith(destinations.PYTHON):
        raise InvalidQuestion(f"{name!r} is a Python listener, and has no secret", name=name)
    if given is None and listener.kind != "webhook":
        raise InvalidQuestion(f"{name!r} needs the new API key", name=name)
    told, secret = _secret(listener.kind, given)
    until = dt.datetime.now(dt.UTC) + _ROTATION if listener.kind == "webhook" else None
    await _change(database, name, by, lambda connection: store.set_secret(connection, name, secret, until))
    return Added(name, told)


async def ping(database: Database, name: str, *, by: Change, seconds: float = 10.0) -> Tried:
    """Send one event that is in no log (`listener.test` in namespace `headwater`), whatever the filter. An open-lineage receiver keeps it."""
    async with database.transaction() as connection:
        listener = await store.named(connection, name)
        if listener is None:
            raise _unknown(name)
        await audit_store.append(connection, by)
    began = time.monotonic()
    try:
        destination = await in_thread(lambda: destinations.made(listener, seconds))
    except HeadwaterError as error:
        return Tried(name, False, error.message, round(time.monotonic() - began, 3))
    sending = asyncio.ensure_future(in_thread(lambda: destination.send([destinations.ping()])))
    done = await ended(sending, destination, seconds)
    destination.abort()
    took = round(time.monotonic() - began, 3)
    if not done:
        return Tried(name, False, f"no answer within {seconds:g} s", took)
    outcome = sending.result()
    said = outcome.failure or next((reason for _, reason in outcome.refused), "taken")
    return Tried(name, said == "taken", said, took)


async def _change(database: Database, name: str, by: Change, change: Callable[[Connection], Awaitable[bool]]) -> None:
    async with database.transaction() as connection:
        if not await change(connection):
            raise _unknown(name)
        await audit_store.append(connection, by)


def _unknown(name: str) -> NotFound:
    return NotFound(f"no listener is called {name!r}; `headwater listeners list` shows them", name=name)


def _check_kind(wanted: Wanted) -> None:
    kind, url = wanted.kind, wanted.url
    if kind.startswith(destinations.PYTHON):
        if url or wanted.secret:
            raise InvalidQuestion("a Python listener has neither address nor secret")
        name = kind.removeprefix(destinations.PYTHON)
        if not entry_points(group=destinations.GROUP, name=name):
            raise InvalidQuestion(
                f"no installed package has an entry point {name!r} in {destinations.GROUP}", name=name
            )
        return
    if kind not in destinations.KINDS:
        raise InvalidQuestion(
            f"{kind!r} is no kind of listener; there are {', '.join(destinations.KINDS)}, python:NAME"
        )
    try:
        parts = urlsplit(url or "")
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url or len(url) > 2000 or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidQuestion("a listener's address begins with http:// or https:// and has a host")
    if parts.username is not None or parts.fragment:
        raise InvalidQuestion("a listener's address has no user in it and no fragment; a key is given as its secret")


def _secret(kind: str, given: str | None) -> tuple[str | None, bytes | None]:
    """What is shown, when it was made here, and what is kept."""
    if kind != "webhook":
        if given is not None and (not given.isascii() or not given.isprintable() or not 1 <= len(given) <= 10_000):
            raise InvalidQuestion("an API key is printable ASCII")
        return None, given.encode() if given else None
    if given is None:
        made = secrets.token_bytes(32)
        return f"whsec_{base64.b64encode(made).decode()}", made
    try:
        known = base64.b64decode(given.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        known = b""
    if not 24 <= len(known) <= 64:
        raise InvalidQuestion("a webhook's secret is whsec_ and 24 to 64 bytes in base64")
    return None, known


def _utc(time: dt.datetime | None) -> dt.datetime | None:
    return time.replace(tzinfo=dt.UTC) if time is not None and time.tzinfo is None else time
