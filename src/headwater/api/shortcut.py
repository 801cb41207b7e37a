"""Requests past the router: for a single event or report, routing, parsing parameters and building the answer cost more than the work itself.

The same gates in the same order (limits, access, compression) and the same errors. Anything unusual (parameters, an unreadable body)
goes through the router, which reports what is wrong. The route there is also its description in OpenAPI.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from litestar import Litestar, Request
from litestar.enums import ScopeType
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import HTTPReceiveMessage, Receive, Scope, Send

from headwater.api import access, compression, problems
from headwater.api.limits import Limits

# Takes a request that passed the gates; returns the answer's body as JSON. Raises `Unusual`, or what the route's handler raises.
Answer = Callable[[Request[Any, Any, Any]], Awaitable[bytes]]


class Unusual(Exception):
    """Passes a request on to the router, with the body already read."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class _Direct(msgspec.Struct, frozen=True):
    """A route that is answered here: what answers it, and the gates before that."""

    route: HTTPRouteHandler
    gates: Any


class Shortcut:
    """ASGI middleware around the application, below the middlewares that count, trace and limit requests.

    `answers`: by the path, what answers a POST to it.
    """

    def __init__(self, app: Litestar, limits: Limits, answers: Mapping[str, Answer]) -> None:
        self._app = app
        self._direct = {path: self._path(app, limits, path, answer) for path, answer in answers.items()}
        self.lifespan = app.lifespan

    def _path(self, app: Litestar, limits: Limits, path: str, answer: Answer) -> _Direct:
        route: Any = app.route_handler_method_map[path]["POST"]
        status = int(route.status_code)

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                request: Request[Any, Any, Any] = Request(scope, receive)
                await access.guard(request, route)
                body = await answer(request)
            except Unusual:
                raise
            except Exception as error:  # noqa: BLE001 - as the router does: the answer passes the gates
                await _refusal(route, scope, error)(scope, receive, send)
                return
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body, "more_body": False})

        return _Direct(route, access.middleware(compression.middleware(limits.middleware(respond))))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != ScopeType.HTTP
            or (direct := self._direct.get(scope["path"])) is None
            or scope["method"] != "POST"
            or scope["query_string"]
        ):
            await self._app(scope, receive, send)
            return
        scope["litestar_app"], scope["route_handler"], scope["path_template"] = self._app, direct.route, scope["path"]
        try:
            await direct.gates(scope, receive, send)
        except Unusual as unusual:
            await self._app(scope, _again(unusual.body, receive), send)
        except Exception as error:  # noqa: BLE001 - as the router does
            await _refusal(direct.route, scope, error)(scope, receive, send)


def _refusal(route: HTTPRouteHandler, scope: Scope, error: Exception) -> ASGIResponse:
    handlers: list[tuple[Any, Any]] = [*(route.exception_handlers or {}).items(), *problems.HANDLERS.items()]
    answer = next(answer for kind, answer in handlers if isinstance(error, kind))
    request: Request[Any, Any, Any] = Request(scope)
    found: ASGIResponse = answer(request, error).to_asgi_response(None, request)
    return found


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that begins with the body already read."""
    left = [body]

    async def receiving() -> HTTPReceiveMessage:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()  # type: ignore[return-value]

    return receiving
