"""Our errors as Marquez words them: `{"code", "message"}`, or `{"errors": […]}` for a parameter out of its bounds."""

from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from headwater import errors, telemetry
from headwater.api import problems


class Refusal(msgspec.Struct):
    code: int
    message: str


class Refusals(msgspec.Struct):
    errors: list[str]


def headwater_error(
    request: Request[Any, Any, Any], error: errors.HeadwaterError
) -> Response[Refusal] | Response[Refusals]:
    status = problems.status_of(error)
    if status >= 500 or isinstance(error, errors.DatabaseRefused):
        telemetry.say(telemetry.RequestFailed(request.url.path, error.message))
    if "errors" in error.detail:
        return Response(Refusals([str(one) for one in error.detail["errors"]]), status_code=status)  # type: ignore[attr-defined]
    headers = {} if error.permanent else {"retry-after": "1"}
    return Response(Refusal(status, error.message), status_code=status, headers=headers)


def http_exception(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Refusal]:
    return Response(Refusal(error.status_code, error.detail), status_code=error.status_code)


def unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[Refusal]:
    telemetry.say(telemetry.RequestFailed(request.url.path, repr(error)))
    return Response(Refusal(500, "Headwater failed to answer; its log says more"), status_code=500)


REFUSALS: Any = {errors.HeadwaterError: headwater_error, HTTPException: http_exception, Exception: unforeseen}
