"""Turns errors into HTTP answers, with one shape for every route.

`{"code", "status", "message", "detail"}`. Permanent errors are 4xx, retryable ones 503 with Retry-After. An unforeseen error is a 500 without
internal details, which are in the log.
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
    errors.InvalidPeriod: 400,
    errors.InvalidDates: 400,
    errors.InvalidCalendar: 400,
    errors.InvalidEntities: 422,
    errors.InvalidPolicies: 422,
    errors.InvalidRules: 422,
    errors.InvalidStatus: 422,
    errors.InvalidPlan: 422,
    errors.Unprocessable: 422,
    errors.NotFound: 404,
    errors.Ambiguous: 409,
    errors.SecretKeyDiffers: 409,
    errors.TooLarge: 413,
    errors.Misdirected: 421,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.SignInFailed: 403,
    errors.TooSlow: 408,
    errors.TimedOut: 503,
    errors.ProviderUnavailable: 503,
    errors.DatabaseUnavailable: 503,
    errors.BrokerUnavailable: 503,
    errors.StaleGeneration: 503,
    errors.Overloaded: 503,
    # The same bytes would fail again: clients must not retry them.
    errors.DatabaseRefused: 422,
}


# The driver's message names tables, hosts and statements: it goes to the log only.
_OUTSIDE: dict[type[errors.HeadwaterError], str] = {
    errors.DatabaseRefused: "the database refused the request's statement: see the server's log",
    errors.DatabaseUnavailable: "the database cannot answer now: try again",
}
_INTERNAL = "Headwater failed to answer: see the server's log"


class Problem(msgspec.Struct):
    """The error shape."""

    code: str
    status: int
    message: str
    detail: dict[str, Any]


def problem(error: errors.HeadwaterError) -> Problem:
    """Return the parts of an error that clients may see."""
    status = _STATUS.get(type(error), 500)
    if status == 500:
        return Problem("internal", status, _INTERNAL, {})
    for kind, words in _OUTSIDE.items():
        if isinstance(error, kind):
            return Problem(error.code, status, words, {})
    return Problem(error.code, status, error.message, error.detail)


def headers(error: errors.HeadwaterError) -> dict[str, str]:
    """Return the headers of an error, with any shape of body."""
    given = {} if error.permanent else {"retry-after": "1"}
    if isinstance(error, errors.Unauthenticated):
        told = error.detail.get("error")
        given["www-authenticate"] = 'Bearer realm="headwater"' + (f', error="{told}"' if told else "")
    if isinstance(error, errors.TooSlow):
        given["connection"] = "close"  # do not wait for the rest of the body
    return given


def headwater_error(request: Request[Any, Any, Any], error: errors.HeadwaterError) -> Response[Problem]:
    told = problem(error)
    note(request, error, told.status)
    return Response(told, status_code=told.status, headers=headers(error))


def note(request: Request[Any, Any, Any], error: errors.HeadwaterError, status: int) -> None:
    """Record an error in the log and the metrics; the guard counts refused callers itself."""
    if status >= 500 or isinstance(error, errors.DatabaseRefused):
        telemetry.say(telemetry.RequestFailed(request.url.path, error.message))
    if isinstance(error, errors.SignInFailed):
        telemetry.measure(telemetry.AccessRefused(error.code))


def http_exception(request: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    """Answer Litestar's own errors: unknown route, parameter of the wrong type, body too large."""
    if error.status_code >= 500:
        return unforeseen(request, error)
    code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(error.status_code, "invalid_question")
    detail = {"problems": error.extra} if error.extra else {}
    return Response(
        Problem(code, error.status_code, error.detail, detail),
        status_code=error.status_code,
        headers=dict(error.headers or {}),
    )


def unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    telemetry.say(telemetry.RequestFailed(request.url.path, repr(error)), error)
    return Response(Problem("internal", 500, _INTERNAL, {}), status_code=500)


HANDLERS: Any = {errors.HeadwaterError: headwater_error, HTTPException: http_exception, Exception: unforeseen}
