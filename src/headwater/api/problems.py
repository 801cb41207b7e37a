"""Our errors to HTTP: one shape for every error of every route.

`{"code", "status", "message", "detail"}`. Permanent errors are 4xx, retryable ones 503 with Retry-After. What nobody foresaw is a 500 that
names nothing of the inside; the log has the rest.
"""

from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from headwater import errors, telemetry

_STATUS: dict[type[errors.HeadwaterError], int] = {
    errors.InvalidEvent: 400,
    errors.InvalidQuestion: 400,
    errors.InvalidChange: 400,
    errors.Unprocessable: 422,
    errors.NotFound: 404,
    errors.Ambiguous: 409,
    errors.TooLarge: 413,
    errors.DatabaseUnavailable: 503,
    errors.StaleGeneration: 503,
    errors.Overloaded: 503,
    # The bytes will not do better next time: a client must not retry them.
    errors.DatabaseRefused: 422,
}


class Problem(msgspec.Struct):
    """The error shape."""

    code: str
    status: int
    message: str
    detail: dict[str, Any]


def status_of(error: errors.HeadwaterError) -> int:
    return _STATUS.get(type(error), 500)


def headwater_error(request: Request[Any, Any, Any], error: errors.HeadwaterError) -> Response[Problem]:
    status = status_of(error)
    if status >= 500 or isinstance(error, errors.DatabaseRefused):
        telemetry.say(telemetry.RequestFailed(request.url.path, error.message))
    headers = {} if error.permanent else {"retry-after": "1"}
    return Response(Problem(error.code, status, error.message, error.detail), status_code=status, headers=headers)


def http_exception(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    """Litestar's own refusals (unknown route, a parameter of the wrong type, too large a body)."""
    code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(error.status_code, "invalid_question")
    detail = {"problems": error.extra} if error.extra else {}
    return Response(
        Problem(code, error.status_code, error.detail, detail),
        status_code=error.status_code,
        headers=dict(error.headers or {}),
    )


def unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    telemetry.say(telemetry.RequestFailed(request.url.path, repr(error)))
    return Response(Problem("internal", 500, "Headwater failed to answer; its log says more", {}), status_code=500)


HANDLERS: Any = {errors.HeadwaterError: headwater_error, HTTPException: http_exception, Exception: unforeseen}
