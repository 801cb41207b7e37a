"""`/api/v1`: OpenLineage in, and what of Marquez's API is served so far."""

import datetime as dt
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, post
from litestar.datastructures import State
from litestar.params import FromQuery, QueryParameter

from headwater.answer import log
from headwater.api import body
from headwater.api.access import EVENTS
from headwater.intake.accept import Accepted, Intake, Receipt


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
    """The OpenLineage specification's reply, with a receipt for each event that was kept."""

    status: str
    summary: Summary
    failed_events: list[FailedEvent]
    receipts: list[Receipt]


@post("/lineage", status_code=201, opt=EVENTS)
async def accept(request: Request[Any, Any, Any], state: State) -> Receipt:
    """Accept one OpenLineage event. 201 after it is durable; the body is its receipt."""
    intake: Intake = state.intake
    return await intake.one(await body.read(request, state.settings.server.max_body_bytes))


@post("/lineage/batch", status_code=200, opt=EVENTS)
async def accept_batch(request: Request[Any, Any, Any], state: State) -> BatchReply:
    """Accept an array of OpenLineage events. Each stands alone; what is refused is listed with its place."""
    intake: Intake = state.intake
    accepted: Accepted = await intake.batch(await body.read(request, state.settings.server.max_body_bytes))
    kept, refused = len(accepted.receipts), len(accepted.refused)
    return BatchReply(
        "partial_success" if refused else "success",
        Summary(kept + refused, kept, refused, 0, refused),
        [FailedEvent(item.index, item.reason, False) for item in accepted.refused],
        accepted.receipts,
    )


@get("/namespaces")
async def namespaces(state: State, limit: FromQuery[int] = 100, offset: FromQuery[int] = 0) -> log.Namespaces:
    """Every namespace of a dataset or job."""
    return await log.namespaces(state.database, limit=limit, offset=offset)


@get("/events/lineage")
async def lineage_events(
    state: State,
    after: FromQuery[dt.datetime | None] = None,
    before: FromQuery[dt.datetime | None] = None,
    sort_direction: Annotated[str, QueryParameter(name="sortDirection")] = "desc",
    limit: FromQuery[int] = 100,
    offset: FromQuery[int] = 0,
) -> Response[bytes]:
    """Run events as they were received, `after` ≤ eventTime < `before`."""
    found = await log.lineage_events(
        state.database,
        after=after,
        before=before,
        ascending=sort_direction.lower() == "asc",
        limit=limit,
        offset=offset,
    )
    return Response(msgspec.json.encode(found), media_type="application/json")


router = Router(
    "/api/v1", route_handlers=[accept, accept_batch, namespaces, lineage_events], tags=["OpenLineage and Marquez"]
)
