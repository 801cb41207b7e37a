"""Accept OpenLineage: one event, or many."""

from typing import Any

import msgspec
from litestar import Request, Response, post
from litestar.datastructures import State

from headwater.api import body, problems
from headwater.api.access import EVENTS
from headwater.errors import InvalidEvent
from headwater.intake.events.accept import Accepted, Intake, Receipt


class Summary(msgspec.Struct):
    received: int
    successful: int
    failed: int
    retriable: int
    non_retriable: int


class FailedEvent(msgspec.Struct):
    index: int
    reason: str
    retriable: bool


class BatchReply(msgspec.Struct):
    """The OpenLineage specification's reply, with a receipt for each accepted event."""

    status: str
    summary: Summary
    failed_events: list[FailedEvent]
    receipts: list[Receipt]


class Incomplete(problems.Problem):
    """An event that is JSON and has no identity. `errors`: Marquez's answer."""

    errors: list[str]


def _invalid_event(request: Request[Any, Any, Any], error: InvalidEvent) -> Response[Any]:
    """Answer 422 with the missing values, as Marquez does, to an event that lacks some; 400 to what is no JSON."""
    missing = error.detail.get("errors")
    if not isinstance(missing, list):
        return problems.headwater_error(request, error)
    return Response(Incomplete(error.code, 422, error.message, error.detail, missing), status_code=422)


@post("/lineage", status_code=201, opt=EVENTS, exception_handlers={InvalidEvent: _invalid_event})
async def accept(request: Request[Any, Any, Any], state: State) -> Receipt:
    """Accept one OpenLineage event. 201 after it is durable; the body is its receipt."""
    intake: Intake = state.intake
    return await intake.accept(await body.read(request, state.settings.server.max_body_bytes))


@post("/lineage/batch", status_code=200, opt=EVENTS)
async def accept_batch(request: Request[Any, Any, Any], state: State) -> BatchReply:
    """Accept an array of OpenLineage events. Each is accepted or refused by itself; refused ones are listed with their position."""
    intake: Intake = state.intake
    accepted: Accepted = await intake.accept_batch(await body.read(request, state.settings.server.max_body_bytes))
    kept, refused = len(accepted.receipts), len(accepted.refused)
    return BatchReply(
        "partial_success" if refused else "success",
        Summary(kept + refused, kept, refused, 0, refused),
        [FailedEvent(item.index, item.reason, False) for item in accepted.refused],
        accepted.receipts,
    )


HANDLERS = [accept, accept_batch]
