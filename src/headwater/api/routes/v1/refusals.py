"""Errors as Marquez words them: `{"code", "message"}`, or `{"errors": […]}` for a parameter out of its bounds."""

from typing import Any

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from headwater import errors
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
    headers = problems.headers(error)
    if "errors" in told.detail:
        return Response(Refusals(told.detail["errors"]), status_code=told.status, headers=headers)
    return Response(Refusal(told.status, told.message), status_code=told.status, headers=headers)


def http_exception(request: Request[Any, Any, Any], error: HTTPException) -> Response[Refusal]:
    if error.status_code >= 500:
        return unforeseen(request, error)
    return Response(
        Refusal(error.status_code, error.detail), status_code=error.status_code, headers=dict(error.headers or {})
    )


def unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[Refusal]:
    told = problems.unforeseen(request, error)
    return Response(Refusal(500, told.content.message), status_code=500)


REFUSALS: Any = {errors.HeadwaterError: headwater_error, HTTPException: http_exception, Exception: unforeseen}
