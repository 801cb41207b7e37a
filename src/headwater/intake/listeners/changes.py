"""Add, change and test listeners. Each change writes an audit row in its transaction. A secret is shown only once."""

import asyncio
import base64
import binascii
import datetime as dt
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.metadata import entry_points
from urllib.parse import urlsplit

import msgspec

from headwater.errors import HeadwaterError, InvalidQuestion, NotFound
from headwater.intake.listeners import destinations
from headwater.intake.listeners.deliveries import ended, in_thread
from headwater.intake.listeners.filter import Filter
from headwater.intake.listeners.networks import Outbound
from headwater.intake.people.audit import Change
from headwater.model.moments import aware
from headwater.store.database import Connection, Database
from headwater.store.events.arrivals import settled
from headwater.store.people import audit as audit_store
from headwater.store.people import listeners as store
from headwater.store.people.secrets import check

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_ROTATION = dt.timedelta(hours=24)


class ListenerRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A listener to add. `kind`: webhook, openlineage, marquez, datahub, openmetadata, snowflake, databricks, or `python:` and an entry point.

    `secret`: signs a webhook (`whsec_…`; generated if absent); for other kinds the API key to send. `since`: first deliver the stored events with
    this event time or a later one.
    """

    name: str
    kind: str
    url: str | None = None
    secret: str | None = None
    filter: Filter = Filter()
    since: dt.datetime | None = None
    paused: bool = False


class Added(msgspec.Struct, frozen=True):
    """`secret`: the only copy, if it was generated here."""

    name: str
    secret: str | None


class PingResult(msgspec.Struct, frozen=True):
    """The outcome of one ping. `said`: the receiver's answer, or why there is none."""

    name: str
    ok: bool
    said: str
    seconds: float


async def add(database: Database, wanted: ListenerRequest, outbound: Outbound, *, by: Change) -> Added:
    """Add a listener. Every event that is accepted after this returns is delivered to it.

    Raises InvalidQuestion for invalid values, a name in use, an address that is not allowed, or an entry point that is not installed;
    SecretKeyDiffers if the key is not the servers'.
    """
    if not _NAME.fullmatch(wanted.name):
        raise InvalidQuestion(
            "a listener's name must have 1 to 63 letters, digits, dots, dashes or underscores, and begin with a letter or digit",
            name=wanted.name[:100],
        )
    _check_kind(wanted)
    if wanted.url is not None:
        await in_thread(lambda: _check_network(wanted.url or "", outbound))
    shown_once, secret = _secret(wanted.kind, wanted.secret)
    filter = msgspec.json.encode(wanted.filter.checked()).decode()
    arrived = await settled(database) + 1
    async with database.transaction() as connection:
        await check(connection, outbound.key)
        added = await store.add(
            connection,
            wanted.name,
            wanted.kind,
            url=wanted.url,
            secret=secret and outbound.key.encrypt(secret),
            filter=filter,
            created_by=by.actor,
            paused=wanted.paused,
            arrived=arrived,
            since=aware(wanted.since),
        )
        if not added:
            raise InvalidQuestion(
                f"a listener is already called {wanted.name!r}; choose another name", name=wanted.name
            )
        await audit_store.append(connection, by)
    return Added(wanted.name, shown_once)


async def pause(database: Database, name: str, *, by: Change) -> None:
    """Deliver nothing until `resume`; later events wait. Raises NotFound, as do the following functions."""
    await _change(database, name, by, lambda connection: store.pause(connection, name, True))


async def resume(database: Database, name: str, *, by: Change) -> None:
    """Continue delivery where it stopped; a failing listener is tried at once."""
    await _change(database, name, by, lambda connection: store.pause(connection, name, False))


async def remove(database: Database, name: str, *, by: Change) -> None:
    await _change(database, name, by, lambda connection: store.remove(connection, name))


async def replay(database: Database, name: str, since: dt.datetime, *, by: Change) -> None:
    """Deliver the events with this event time or a later one again, ordered by event time; then continue."""
    at = aware(since)
    assert at is not None
    await _change(database, name, by, lambda connection: store.replay(connection, name, at))


async def rotate(database: Database, name: str, given: str | None, outbound: Outbound, *, by: Change) -> Added:
    """Replace the secret. For a day, a webhook is signed with the old one too. Raises InvalidQuestion for a listener without a secret."""
    async with database.connection() as connection:
        await check(connection, outbound.key)
        listener = await store.named(connection, name)
    if listener is None:
        raise _unknown(name)
    if listener.kind.startswith(destinations.PYTHON):
        raise InvalidQuestion(f"{name!r} is a Python listener, and has no secret", name=name)
    if given is None and listener.kind != "webhook":
        raise InvalidQuestion(f"{name!r} needs the new API key; give it as the secret", name=name)
    shown_once, secret = _secret(listener.kind, given)
    until = dt.datetime.now(dt.UTC) + _ROTATION if listener.kind == "webhook" else None
    await _change(
        database,
        name,
        by,
        lambda connection: store.set_secret(connection, name, secret and outbound.key.encrypt(secret), until),
    )
    return Added(name, shown_once)


async def ping(database: Database, name: str, outbound: Outbound, *, by: Change, seconds: float = 10.0) -> PingResult:
    """Send a test event (job `listener.test` in namespace `headwater`), regardless of the filter. It is in no log, but a receiver may store it."""
    async with database.transaction() as connection:
        listener = await store.named(connection, name)
        if listener is None:
            raise _unknown(name)
        await audit_store.append(connection, by)
    began = time.monotonic()
    try:
        destination = await in_thread(lambda: destinations.open_destination(listener, seconds, outbound))
    except HeadwaterError as error:
        return PingResult(name, False, error.message, round(time.monotonic() - began, 3))
    sending = asyncio.ensure_future(in_thread(lambda: destination.send([destinations.ping()])))
    done = await ended(sending, destination, seconds)
    destination.abort()
    took = round(time.monotonic() - began, 3)
    if not done:
        return PingResult(name, False, f"no answer within {seconds:g} s", took)
    outcome = sending.result()
    answer = outcome.failure or next((reason for _, reason in outcome.refused), "taken")
    if answer.startswith("HTTP "):
        answer = answer.partition(":")[0]  # the status, not what an address inside of a network may answer
    return PingResult(name, answer == "taken", answer, took)


async def _change(database: Database, name: str, by: Change, change: Callable[[Connection], Awaitable[bool]]) -> None:
    async with database.transaction() as connection:
        if not await change(connection):
            raise _unknown(name)
        await audit_store.append(connection, by)


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"no listener is called {name!r}; list the listeners with `headwater events listeners list`", name=name
    )


def _check_kind(wanted: ListenerRequest) -> None:
    kind, url = wanted.kind, wanted.url
    if kind.startswith(destinations.PYTHON):
        if url or wanted.secret:
            raise InvalidQuestion("a Python listener has neither address nor secret; leave both out")
        name = kind.removeprefix(destinations.PYTHON)
        if not entry_points(group=destinations.GROUP, name=name):
            raise InvalidQuestion(
                f"no installed package has an entry point {name!r} in {destinations.GROUP}; install it first", name=name
            )
        return
    if kind not in destinations.KINDS:
        raise InvalidQuestion(
            f"{kind!r} is not a kind of listener; use one of {', '.join(destinations.KINDS)}, python:NAME"
        )
    try:
        parts = urlsplit(url or "")
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url or len(url) > 2000 or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidQuestion("a listener's address must begin with http:// or https:// and have a host")
    if parts.username is not None or parts.fragment:
        raise InvalidQuestion("a listener's address must have no user and no fragment; give a key as the secret")


def _check_network(url: str, outbound: Outbound) -> None:
    """Raise InvalidQuestion if events must not be sent to the address. A name that cannot be resolved now is checked at each delivery."""
    parts = urlsplit(url)
    with suppress(OSError):
        outbound.networks.resolve(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def _secret(kind: str, given: str | None) -> tuple[str | None, bytes | None]:
    """The secret to show, if it was generated here, and the secret to store."""
    if kind != "webhook":
        if given is not None and (not given.isascii() or not given.isprintable() or not 1 <= len(given) <= 10_000):
            raise InvalidQuestion("an API key must be printable ASCII of at most 10,000 characters")
        return None, given.encode() if given else None
    if given is None:
        generated = secrets.token_bytes(32)
        return f"whsec_{base64.b64encode(generated).decode()}", generated
    try:
        secret = base64.b64decode(given.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if not 24 <= len(secret) <= 64:
        raise InvalidQuestion("a webhook's secret must be whsec_ and 24 to 64 bytes in base64")
    return None, secret
