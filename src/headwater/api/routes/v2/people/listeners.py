"""`/api/v2/admin/listeners`: forward accepted events to other systems."""

import datetime as dt
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer.people import listeners as answers
from headwater.api.audit import audited_change
from headwater.intake.listeners import changes as writes

T = TypeVar("T")

Name = Annotated[str, PathParameter(description="The listener's name.")]


class WantedReplay(msgspec.Struct, forbid_unknown_fields=True):
    """`since`: an event time; without a zone, UTC."""

    since: dt.datetime


class WantedSecret(msgspec.Struct, forbid_unknown_fields=True):
    """`secret`: the new one; default for a webhook: a generated one."""

    secret: str | None = None


@get()
async def list_listeners(state: State) -> answers.ListenerList:
    """List all listeners, without their secrets."""
    return await answers.listeners(state.database)


@get("/{name:str}")
async def show_listener(state: State, name: Name) -> answers.OneListener:
    """Return one listener, and the events that it refused."""
    return await answers.listener(state.database, name)


@post(status_code=201)
async def add_listener(
    request: Request[Any, Any, Any], state: State, data: JSONBody[writes.ListenerRequest]
) -> writes.Added:
    """Add a listener. Only this answer shows a generated secret."""
    url = (data.url or "").partition("?")[0]  # the query may hold a key
    detail = {"kind": data.kind, "url": url, "filter": msgspec.to_builtins(data.filter), "since": str(data.since or "")}
    by = audited_change(request, "add_listener", data.name[:100], detail, status=201)
    return _done(request, state, await writes.add(state.database, data, state.outbound, by=by))


@post("/{name:str}/pause", status_code=200)
async def pause_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Pause a listener until it is resumed; events wait meanwhile."""
    await writes.pause(state.database, name, by=audited_change(request, "pause_listener", name, {}))
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/resume", status_code=200)
async def resume_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Resume a listener where it stopped."""
    await writes.resume(state.database, name, by=audited_change(request, "resume_listener", name, {}))
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/replay", status_code=200)
async def replay_listener(
    request: Request[Any, Any, Any], state: State, name: Name, data: JSONBody[WantedReplay]
) -> answers.OneListener:
    """Deliver again what has this event time or a later one, then continue."""
    by = audited_change(request, "replay_listener", name, {"since": data.since.isoformat()})
    await writes.replay(state.database, name, data.since, by=by)
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/secret", status_code=200)
async def rotate_secret(
    request: Request[Any, Any, Any], state: State, name: Name, data: JSONBody[WantedSecret]
) -> writes.Added:
    """Replace a listener's secret; for a day, a webhook is also signed with the old one."""
    by = audited_change(request, "rotate_listener", name, {})
    return _done(request, state, await writes.rotate(state.database, name, data.secret, state.outbound, by=by))


@post("/{name:str}/test", status_code=200)
async def test_listener(request: Request[Any, Any, Any], state: State, name: Name) -> writes.PingResult:
    """Send a listener one test event, and return its answer."""
    by = audited_change(request, "test_listener", name, {})
    return _done(request, state, await writes.ping(state.database, name, state.outbound, by=by))


@delete("/{name:str}", status_code=200)
async def remove_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Remove a listener and its records, and return it."""
    was = await answers.listener(state.database, name)
    await writes.remove(state.database, name, by=audited_change(request, "remove_listener", name, {}))
    return _done(request, state, was)


def _done(request: Request[Any, Any, Any], state: State, answer: T) -> T:
    """Mark the change as audited, and let deliveries begin at once."""
    request.state.audit = {"written": True}
    if deliveries := state.get("deliveries"):
        deliveries.changed()
    return answer


router = Router(
    "/api/v2/admin/listeners",
    route_handlers=[
        list_listeners,
        show_listener,
        add_listener,
        pause_listener,
        resume_listener,
        replay_listener,
        rotate_secret,
        test_listener,
        remove_listener,
    ],
    opt={"role": "admin"},
    tags=["Administration"],
)
