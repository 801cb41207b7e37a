"""`POST /api/v2/instances` and `POST /api/v1/lineage` past the router (`api.shortcut`)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request

from headwater.api import body
from headwater.api.authors import author
from headwater.api.routes.v2.status.entities import LONGEST_CALL, MOST_REPORTS, Reports
from headwater.api.sender_clock import clock_offset
from headwater.api.shortcut import Answer, Unusual
from headwater.intake.events.accept import Intake
from headwater.intake.status.reports import StatusIntake

INSTANCES, EVENTS = "/api/v2/instances", "/api/v1/lineage"
CALL = "idempotency-key"
_reports = msgspec.json.Decoder(Reports)
_encoded = msgspec.json.Encoder().encode


def direct_answers(status: StatusIntake, intake: Intake, most_bytes: int) -> Mapping[str, Answer]:
    """Return what answers a report on instances and a single event, by path. `most_bytes`: of an event's body."""

    async def take_event(request: Request[Any, Any, Any]) -> bytes:
        return _encoded(await intake.accept(await body.read(request, most_bytes)))

    async def take_reports(request: Request[Any, Any, Any]) -> bytes:
        sent = await request.body()
        try:
            reports = _reports.decode(sent).reports
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise Unusual(sent) from None
        if not 1 <= len(reports) <= MOST_REPORTS:
            raise Unusual(sent)
        call = request.headers.get(CALL)
        if call is not None and not 1 <= len(call) <= LONGEST_CALL:
            raise Unusual(sent)
        return _encoded(await status.add(reports, author(request), call, clock_offset(request.headers)))

    return {INSTANCES: take_reports, EVENTS: take_event}
