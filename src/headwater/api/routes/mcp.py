"""`/mcp`: the tools of the Model Context Protocol over HTTP, behind the same keys, roles, Host check and limits as every other route.

A tool's questions are requests to this application in the caller's name: what a key may not read it may not read here. The package `mcp` is imported
with the first request, so that servers without such clients do not pay for it.
"""

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from litestar import route
from litestar.datastructures import State
from litestar.types import ASGIApp, Receive, Scope, Send

from headwater.client.ask import refusal
from headwater.errors import NotInstalled
from headwater.mcp.questions import Ask

# Who the caller is, and which name of this server the request was sent to.
_CALLER = ("authorization", "cookie", "host", "x-forwarded-host", "origin", "sec-fetch-site")


class McpEndpoint:
    """The protocol's server of one application; it begins with its first request and ends with the application."""

    def __init__(self) -> None:
        self.application: ASGIApp | None = None
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None
        self._ready, self._end = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        waiting = asyncio.create_task(self._ready.wait())
        await asyncio.wait([waiting, self._running], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._running.done():
            self._running.result()
        await self._manager.handle_request(scope, receive, send)

    async def _run(self) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from headwater.mcp.protocol import server

        self._manager = StreamableHTTPSessionManager(server(self._asking), json_response=True, stateless=True)
        async with self._manager.run():
            self._ready.set()
            await self._end.wait()

    async def close(self) -> None:
        """End it; requests that it still answers are cut off."""
        self._end.set()
        if self._running is not None:
            await self._running

    def _asking(self, request: Any) -> Ask:
        headers = {name: request.headers[name] for name in _CALLER if name in request.headers}

        async def ask(path: str, parameters: Mapping[str, object]) -> bytes:
            given = {key: value for key, value in parameters.items() if value is not None}
            import httpx  # with a command line of its own: 9 MB that a server without agents does not need

            transport = httpx.ASGITransport(self.application)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None) as client:  # noqa: S113  (the route's own limit)
                answer = await client.get(path, params=given, headers=headers)  # type: ignore[arg-type]
            if not answer.is_success:
                raise refusal(answer.status_code, answer.content, path)
            return answer.content

        return ask


@route(
    "/mcp",
    http_method=["GET", "POST", "DELETE"],
    opt={"role": "read", "audit": False, "waits": True},
    include_in_schema=False,
)
async def mcp(state: State) -> ASGIApp:
    """Speak the Model Context Protocol."""
    if find_spec("mcp") is None:
        raise NotInstalled(
            "the server has no package `mcp`: pip install 'headwater[server,mcp]'", extra="mcp", missing=["mcp"]
        )
    return state.mcp  # type: ignore[no-any-return]
