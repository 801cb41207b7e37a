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
    told = problems.problem(error)
    problems.note(request, error, told.status)
    if "errors" in told.detail:
        return Response(Refusals([str(one) for one in told.detail["errors"]]), status_code=told.status)
    return Response(Refusal(told.status, told.message), status_code=told.status, headers=problems.headers(error))


def http_exception(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Refusal]:
    return Response(Refusal(error.status_code, error.detail), status_code=error.status_code)


def unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[Refusal]:
    telemetry.say(telemetry.RequestFailed(request.url.path, repr(error)), error)
    return Response(Refusal(500, "Headwater failed to answer; its log says more"), status_code=500)


REFUSALS: Any = {errors.HeadwaterError: headwater_error, HTTPException: http_exception, Exception: unforeseen}
