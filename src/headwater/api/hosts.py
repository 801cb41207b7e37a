"""Refuse requests for hosts that the server is not: 421 (RFC 9110, 15.5.20).

A page on the internet can point its own name at 127.0.0.1 (DNS rebinding); the browser then sends the page's requests to a server on this machine,
as that page's own. Such a request carries the page's name in `Host`. A server on a loopback address therefore answers only to names of this
machine, to the host of `PUBLIC_URL` and to `ALLOWED_HOSTS`. On other addresses every host is answered unless `ALLOWED_HOSTS` is set.
"""

from typing import Any
from urllib.parse import urlsplit

import msgspec
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from headwater.api import problems
from headwater.api.preparing import loopback
from headwater.errors import Misdirected
from headwater.settings import ServerSettings

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def allowed_hosts(server: ServerSettings) -> frozenset[str] | None:
    """The hosts to answer to, in lower case and without ports; None: every host."""
    named = {host for host in (_hostname(text) for text in server.allowed_hosts.split(",") if text.strip()) if host}
    if not loopback(server.host) and not named:
        return None
    public = urlsplit(server.public_url).hostname if server.public_url else None
    own = server.host.strip("[]").lower()
    return frozenset({*_LOCAL, *named, *([public] if public else []), *([own] if loopback(own) else [])})


class KnownHosts:
    """ASGI middleware around the whole application, the page's assets included."""

    def __init__(self, app: Any, allowed: frozenset[str]) -> None:
        self._app = app
        self.lifespan = app.lifespan
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            given = [value for name, value in scope["headers"] if name == b"host"]
            if not given or any(_hostname(value.decode("latin-1")) not in self._allowed for value in given):
                await _refuse(given[0].decode("latin-1") if given else "", send)
                return
        await self._app(scope, receive, send)


async def _refuse(host: str, send: Send) -> None:
    error = Misdirected(
        f"this server does not answer to the host {host[:200]!r}. If that is its name, set HEADWATER_SERVER__ALLOWED_HOSTS to it, "
        "or HEADWATER_SERVER__PUBLIC_URL to the address that browsers use",
        host=host[:200],
    )
    body = msgspec.json.encode(problems.problem(error))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 421, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _hostname(text: str) -> str | None:
    """The host without its port, in lower case; None if the text is not a host."""
    try:
        parts = urlsplit(f"//{text.strip()}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.username is None and not parts.path else None
