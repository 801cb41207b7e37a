"""Routes on the path as sent, still percent-encoded.

Namespaces contain slashes (`s3://bucket`), which clients send as `%2F`. A server decodes the path before routing, which would split
one segment into several. So routing gets the raw path, and a handler decodes its segments with `unquote`.

Below a sub-path (`HEADWATER_SERVER__ROOT_PATH`) the routes are the same: the prefix is removed here. A path without it (removed by a proxy, or from
a probe of the process) is routed unchanged.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send


class RawPath:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, root: str = "") -> None:
        self._app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and (raw := scope.get("raw_path")):
            # Some servers include the query string in raw_path; the ASGI specification excludes it.
            path = raw.split(b"?", 1)[0].decode("ascii", "replace")
            if self._root and path == self._root:
                # Without the slash the page's relative links would leave the sub-path.
                location = [(b"location", f"{self._root}/".encode()), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 308, "headers": location})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            if self._root and path.startswith(f"{self._root}/"):
                path = path[len(self._root) :]
            scope["path"] = path
        await self._app(scope, receive, send)
