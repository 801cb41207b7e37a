"""`POST /api/v2/instances` past the router: for a single report, routing, parsing parameters and building the answer cost more than the report.

The same gates in the same order (limits, access, compression) and the same errors. Anything unusual (parameters, an unreadable body)
goes through the router, which reports what is wrong. The route there is also its description in OpenAPI.
"""

from typing import Any

import msgspec
from litestar import Litestar, Request
from litestar.enums import ScopeType
from litestar.response.base import ASGIResponse
from litestar.types import HTTPReceiveMessage, Receive, Scope, Send

from headwater.api import access, compression, problems
from headwater.api.authors import author
from headwater.api.limits import Limits
from headwater.api.routes.v2.status.entities import LONGEST_CALL, MOST_REPORTS, Reports
from headwater.api.sender_clock import clock_offset
from headwater.intake.status.reports import StatusIntake

PATH = "/api/v2/instances"
CALL = "idempotency-key"
_reports = msgspec.json.Decoder(Reports)
_encoded = msgspec.json.Encoder().encode


class _Unusual(Exception):
    """Passes a request on to the router, with the body already read."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class Reporting:
    """ASGI middleware around the application, below the middlewares that count, trace and limit requests."""

    def __init__(self, app: Litestar, limits: Limits, status: StatusIntake) -> None:
        self._app, self._status = app, status
        self._route = app.route_handler_method_map[PATH]["POST"]
        self._gates = compression.middleware(limits.middleware(self._answer))
        self.lifespan = app.lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != ScopeType.HTTP
            or scope["path"] != PATH
            or scope["method"] != "POST"
            or scope["query_string"]
        ):
            await self._app(scope, receive, send)
            return
        scope["litestar_app"], scope["route_handler"], scope["path_template"] = self._app, self._route, PATH
        try:
            await self._gates(scope, receive, send)
        except _Unusual as unusual:
            await self._app(scope, _again(unusual.body, receive), send)
        except Exception as error:  # noqa: BLE001 - as the router does
            await self._refusal(scope, error)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._take_reports(scope, receive)
        except _Unusual:
            raise
        except Exception as error:  # noqa: BLE001 - as the router does: the answer passes the gates
            await self._refusal(scope, error)(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer, "more_body": False})

    async def _take_reports(self, scope: Scope, receive: Receive) -> bytes:
        """Apply the reports and return their outcomes as JSON."""
        request: Request[Any, Any, Any] = Request(scope, receive)
        await access.guard(request, self._route)
        body = await request.body()
        try:
            reports = _reports.decode(body).reports
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise _Unusual(body) from None
        if not 1 <= len(reports) <= MOST_REPORTS:
            raise _Unusual(body)
        call = request.headers.get(CALL)
        if call is not None and not 1 <= len(call) <= LONGEST_CALL:
            raise _Unusual(body)
        offset = clock_offset(request.headers)
        return _encoded(await self._status.add(reports, author(request), call, offset))

    def _refusal(self, scope: Scope, error: Exception) -> ASGIResponse:
        answer = next(answer for kind, answer in problems.HANDLERS.items() if isinstance(error, kind))
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
