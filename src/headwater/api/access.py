"""Identify the caller and check the role: one guard before every route.

A route states its role with `opt={"role": "read" | "write" | "admin" | "anyone"}`. By default GET and HEAD need read, other methods
write, and everything below /api/v2/admin needs admin. After the guard `request.state.actor` is an `Actor`.

Keys are compared by digest and cached for a few seconds, so a revoked key is refused within five. What a browser adds by itself (a
session cookie, or its reach of an open server) never lets another site make a change.
"""

import datetime as dt
import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

import msgspec
from litestar.connection import ASGIConnection, Request
from litestar.handlers import BaseRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater import telemetry
from headwater.answer.people import keys as known_keys
from headwater.answer.people.limits import limit_reading, without_limits
from headwater.api.limited_routes import ROUTES
from headwater.errors import Forbidden, HeadwaterError, Unauthenticated
from headwater.intake.people import keys as key_writes

RANK: dict[str, int] = {"none": -1, "anyone": 0, "read": 1, "write": 2, "admin": 3}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
# Intake of events: the event log is its record, not the audit log.
EVENTS = {"role": "write", "audit": False}
_SECONDS = 3.0
_REMEMBERED = 2048


class Actor(msgspec.Struct, frozen=True):
    """The caller, as plain values. A handler records `request.state.actor.name` as the author of a change.

    `name` is a key's name, a person's mail address or subject, `admin key`, or `anonymous` on an open server.
    `via` is how the caller was identified: open, key, admin_key, session, token. `limits`: the datasets that a reader may see
    (`model.limits`); empty: all.
    """

    name: str
    role: str
    via: str
    limits: tuple[str, ...] = ()

    def may(self, role: str) -> bool:
        return RANK[self.role] >= RANK[role]


ADMIN = Actor("admin key", "admin", "admin_key")
ANONYMOUS = Actor("anonymous", "admin", "open")
STRANGER = Actor("anonymous", "anyone", "open")


class SignedIn(msgspec.Struct, frozen=True):
    """The person of a session. `key`: what they signed in with, if not with the identity provider: it must be live still."""

    actor: Actor
    key: str | None


class SignIn(Protocol):
    """The part of people: see sessions.py. `provider`: whose tokens are taken too; None without one."""

    @property
    def provider(self) -> object | None: ...

    def of_session(self, cookies: Mapping[str, str]) -> SignedIn | None: ...

    async def of_token(self, token: str) -> Actor: ...


class Access:
    """Identifies people and programs by their credentials."""

    def __init__(
        self,
        database: Any,
        *,
        closed: bool,
        admin_key: str | None = None,
        public_url: str | None = None,
        sign_in: SignIn | None = None,
    ) -> None:
        self.closed = closed
        self.sign_in = sign_in
        self._database = database
        self._public_host = urlsplit(public_url or "").netloc or None
        self._admin_key = key_writes.digest_of(admin_key) if admin_key else None
        self._keys: OrderedDict[bytes, tuple[float, known_keys.Held | None]] = OrderedDict()

    async def actor(self, connection: Request[Any, Any, Any]) -> Actor:
        """Return the caller. Raises Unauthenticated when access is closed and the request has no valid credentials."""
        header = connection.headers.get("authorization")
        if header:
            try:
                return await self._bearer(header)
            except HeadwaterError:
                # Many producers send one key to every server; an open server accepts them.
                if self.closed:
                    raise
        self.refuse_other_sites(connection)
        if self.sign_in and (signed := self.sign_in.of_session(connection.cookies)) and await self._holds(signed.key):
            return signed.actor
        if not self.closed:
            return ANONYMOUS
        raise Unauthenticated(
            "send an API key as `Authorization: Bearer hw_…` (commands: HEADWATER_API_KEY)"
            + (", or sign in" if self.sign_in else "")
        )

    async def of_key(self, token: str) -> SignedIn:
        """Return the holder of an API key or of the admin key. Raises Unauthenticated."""
        if self._is_admin_key(token):
            return SignedIn(ADMIN, self._admin_session())
        if (id := key_writes.id_of(token)) is None:
            raise Unauthenticated("this is no API key: a key begins with hw_", error="invalid_token")
        return SignedIn(await self._key(id, token), id)

    async def _bearer(self, header: str) -> Actor:
        scheme, _, token = header.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated(
                "the Authorization header is not `Bearer KEY`: send `Authorization: Bearer hw_…`",
                error="invalid_request",
            )
        if self._is_admin_key(token):
            return ADMIN
        if (id := key_writes.id_of(token)) is not None:
            return await self._key(id, token)
        if self.sign_in and self.sign_in.provider and token.count(".") == 2:
            return await self.sign_in.of_token(token)
        raise Unauthenticated(
            "this server does not know the key: make one with `headwater server keys create NAME`",
            error="invalid_token",
        )

    def _is_admin_key(self, token: str) -> bool:
        return self._admin_key is not None and key_writes.same(self._admin_key, token)

    def _admin_session(self) -> str | None:
        """Return the mark of sessions of today's admin key; another key has another mark."""
        return f"admin:{hashlib.sha256(self._admin_key).hexdigest()}" if self._admin_key else None

    async def _holds(self, key: str | None) -> bool:
        """Return whether what a session was made with is accepted still."""
        if key is None or key == self._admin_session():
            return True
        found = await self._find(key.encode(), key, None)
        return found is not None and _live(found)

    async def _find(self, slot: bytes, id: str, token: str | None) -> known_keys.Held | None:
        """Return the key, looked up at most every few seconds. `token`: what it must have been made of."""
        now = time.monotonic()
        checked, key = self._keys.get(slot, (None, None))
        if checked is None or now - checked > _SECONDS:
            key = await known_keys.find(self._database, id)
            if key is not None and token is not None and not key_writes.same(key.digest, token):
                key = None
            self._keys[slot] = (now, key)
            self._keys.move_to_end(slot)
            while len(self._keys) > _REMEMBERED:
                self._keys.popitem(last=False)
            if key is not None and key.revoked_at is None and _long_ago(key.last_used_at):
                await key_writes.used(self._database, id)
        return key

    async def _key(self, id: str, token: str) -> Actor:
        key = await self._find(key_writes.digest_of(token), id, token)
        if key is None:
            raise Unauthenticated(
                "this server does not know the key: make one with `headwater server keys create NAME`",
                error="invalid_token",
            )
        if key.revoked_at is not None:
            raise Unauthenticated(
                f"the key {key.name!r} was revoked: make another with `headwater server keys create NAME`",
                error="invalid_token",
            )
        if not _live(key):
            raise Unauthenticated(
                f"the key {key.name!r} has expired: make another with `headwater server keys create NAME`",
                error="invalid_token",
            )
        return Actor(key.name, key.role, "key", tuple(key.limits))

    def refuse_other_sites(self, connection: Request[Any, Any, Any]) -> None:
        """Refuse a change whose browser headers name another site; programs send neither header."""
        if connection.method in SAFE:
            return
        site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
        if site is not None:
            foreign = site not in {"same-origin", "none"}
        else:
            # Pages of another site cannot set these headers. A proxy with its own host name passes on the original one.
            own = {connection.headers.get("host"), connection.headers.get("x-forwarded-host"), self._public_host}
            foreign = origin is not None and origin.partition("://")[2] not in own
        if foreign:
            raise Forbidden(
                "the request comes from a page of another site: use Headwater's own page, or an API key", origin=origin
            )


def _live(key: known_keys.Held) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > dt.datetime.now(dt.UTC))


def _long_ago(time: dt.datetime | None) -> bool:
    return time is None or dt.datetime.now(dt.UTC) - time > dt.timedelta(minutes=1)


def needed(method: str, template: str, opt: Mapping[str, Any]) -> str:
    """Return the role that a route requires."""
    role = str(opt.get("role") or ("read" if method in SAFE else "write"))
    return "admin" if template.startswith("/api/v2/admin") else role


def refuse_unlimited_routes(actor: Actor, method: str, template: str) -> None:
    """Raise Forbidden where a reader with limits could be shown what they may not see: every route but those of `limited_routes`."""
    if (method in SAFE and template in ROUTES) or template == "/mcp":
        return
    raise Forbidden(
        f"{actor.name!r} may see some datasets only ({', '.join(actor.limits)}), and this answer is about all: "
        "ask an admin for a key without limits",
        limits=list(actor.limits),
    )


def middleware(app: ASGIApp) -> ASGIApp:
    """Let the limits of a request's reader end with it: the next request may be answered in the same context."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        with without_limits():
            await app(scope, receive, send)

    return limited


async def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Set `state.actor`, or raise Unauthenticated (401) or Forbidden (403)."""
    request = cast("Request[Any, Any, Any]", connection)  # there are no websockets
    role = needed(request.method, request.scope.get("path_template", ""), handler.opt)
    request.state.actor = STRANGER
    if role == "anyone":
        return
    access: Access = request.app.state.access
    try:
        actor = request.state.actor = await access.actor(request)
        if not actor.may(role):
            raise Forbidden(
                f"{actor.name!r} has the role {actor.role}; this needs {role}: use a key with that role",
                role=actor.role,
                needed=role,
            )
        if actor.limits:
            refuse_unlimited_routes(actor, request.method, request.scope.get("path_template", ""))
            limit_reading(actor.limits)
    except (Unauthenticated, Forbidden) as error:
        telemetry.measure(telemetry.AccessRefused(error.code))
        raise
