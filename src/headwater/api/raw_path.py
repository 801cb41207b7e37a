"""Routes on the path as it was sent, still percent-encoded.

Namespaces hold slashes (`s3://bucket`), and clients send them as `%2F`. A server decodes the path before it is routed, which would turn
one segment into several; so routing gets the raw path, and a handler decodes the segments it takes with `unquote`.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send


class RawPath:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and (raw := scope.get("raw_path")):
            # Some servers put the query string into raw_path; the ASGI specification leaves it out.
            scope["path"] = raw.split(b"?", 1)[0].decode("ascii", "replace")
        await self._app(scope, receive, send)
