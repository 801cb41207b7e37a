"""`/api/v2/alerts`: what was told, to whom, and what became of the messages."""

import datetime as dt
import uuid
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer.alerts import alerts as answers
from headwater.api.audit import audited_change
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import Flag, Limit, Offset, OptionalText, Text, Time
from headwater.intake.alerts import acknowledging as writes
from headwater.model.moments import aware

Id = Annotated[str, PathParameter(max_length=100, description="The alert's id, or the beginning of it.")]


class WantedNote(msgspec.Struct, forbid_unknown_fields=True):
    """`note`: what the person does about it."""

    note: Annotated[str, msgspec.Meta(max_length=2000)] = ""


class WantedMute(msgspec.Struct, forbid_unknown_fields=True):
    """`until`: send nothing about the alert until then; null: send again."""

    until: dt.datetime | None = None


@get("/alerts")
async def list_alerts(
    state: State,
    open: Flag = False,
    subject: OptionalText = None,
    since: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> answers.Alerts:
    """List alerts, the latest first. `open`: those that are neither acknowledged nor over. `subject`: about a dataset, job or producer."""
    return await answers.alerts(
        state.database, open_only=open, subject=subject, since=aware(since), limit=limit, offset=offset
    )


@get("/alerts/{alert:str}")
async def show_alert(state: State, alert: Id) -> answers.AlertView:
    """Return one alert with its messages."""
    return await answers.alert(state.database, alert)


@post("/alerts/{alert:str}/acknowledge", status_code=200)
async def acknowledge_alert(
    request: Request[Any, Any, Any], state: State, alert: Id, data: JSONBody[WantedNote], as_: As = None
) -> answers.AlertView:
    """Say that you look after an alert: it escalates no further."""
    found = await answers.alert(state.database, alert)
    by = audited_change(request, "acknowledge_alert", found.id, {"note": data.note}, by=author(request, as_))
    await writes.acknowledge(state.database, uuid.UUID(found.id), data.note, by=by)
    request.state.audit = {"written": True}
    return await answers.alert(state.database, found.id)


@post("/alerts/{alert:str}/mute", status_code=200)
async def mute_alert(
    request: Request[Any, Any, Any], state: State, alert: Id, data: JSONBody[WantedMute], as_: As = None
) -> answers.AlertView:
    """Send nothing about an alert until a time, or send again."""
    found = await answers.alert(state.database, alert)
    by = audited_change(request, "mute_alert", found.id, {"until": str(data.until or "")}, by=author(request, as_))
    await writes.mute(state.database, uuid.UUID(found.id), aware(data.until), by=by)
    request.state.audit = {"written": True}
    return await answers.alert(state.database, found.id)


class Badge(msgspec.Struct, frozen=True):
    """`state`: as the badge says it. `path`: of the picture below the server's address. `shown`: the server answers it without a key."""

    label: str
    state: str
    path: str
    shown: bool


@get("/badge")
async def get_badge(state: State, name: Text) -> Badge:
    """Return what the badge of a dataset says, by its name or an ending of it."""
    found = await state.badges.find(name)
    return Badge(found.label, found.state, f"/badge/{quote(name, safe='')}.svg", state.settings.embed.badges)


handlers = [get_badge, list_alerts, show_alert, acknowledge_alert, mute_alert]
