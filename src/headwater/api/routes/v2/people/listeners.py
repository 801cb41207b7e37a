"""`/api/v2/admin/listeners`: who is sent what the log takes in."""

import datetime as dt
from typing import Annotated, Any, TypeVar

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer.people import listeners as answers
from headwater.intake.listeners import changes as writes
from headwater.intake.people.audit import Change

T = TypeVar("T")

Name = Annotated[str, PathParameter(description="The listener's name.")]


class WantedReplay(msgspec.Struct, forbid_unknown_fields=True):
    """`since`: an event time; without a zone, UTC."""

    since: dt.datetime


class WantedSecret(msgspec.Struct, forbid_unknown_fields=True):
    """`secret`: the new one; absent: a webhook's is made."""

    secret: str | None = None


@get()
async def list_listeners(state: State) -> answers.ListenerList:
    """Every listener, without its secret."""
    return await answers.listeners(state.database)


@get("/{name:str}")
async def show_listener(state: State, name: Name) -> answers.OneListener:
    """One listener, and what it would not take."""
    return await answers.listener(state.database, name)


@post(status_code=201)
async def add_listener(
    request: Request[Any, Any, Any], state: State, data: JSONBody[writes.ListenerRequest]
) -> writes.Added:
    """Add a listener. A secret that is made is shown here and nowhere else."""
    url = (data.url or "").partition("?")[0]  # what follows may be a key
    detail = {"kind": data.kind, "url": url, "filter": msgspec.to_builtins(data.filter), "since": str(data.since or "")}
    by = _change(request, "add_listener", data.name[:100], 201, detail)
    return _done(request, state, await writes.add(state.database, data, state.outbound, by=by))


@post("/{name:str}/pause", status_code=200)
async def pause_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Deliver nothing to it until it is resumed; what arrives waits."""
    await writes.pause(state.database, name, by=_change(request, "pause_listener", name, 200, {}))
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/resume", status_code=200)
async def resume_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Go on where it stopped."""
    await writes.resume(state.database, name, by=_change(request, "resume_listener", name, 200, {}))
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/replay", status_code=200)
async def replay_listener(
    request: Request[Any, Any, Any], state: State, name: Name, data: JSONBody[WantedReplay]
) -> answers.OneListener:
    """Deliver again what has this event time or a later one."""
    by = _change(request, "replay_listener", name, 200, {"since": data.since.isoformat()})
    await writes.replay(state.database, name, data.since, by=by)
    return _done(request, state, await answers.listener(state.database, name))


@post("/{name:str}/secret", status_code=200)
async def rotate_secret(
    request: Request[Any, Any, Any], state: State, name: Name, data: JSONBody[WantedSecret]
) -> writes.Added:
    """A new secret; a webhook is signed with the old one too for a day."""
    by = _change(request, "rotate_listener", name, 200, {})
    return _done(request, state, await writes.rotate(state.database, name, data.secret, state.outbound, by=by))


@post("/{name:str}/test", status_code=200)
async def test_listener(request: Request[Any, Any, Any], state: State, name: Name) -> writes.PingResult:
    """Send it one event that is in no log, and say what it answers."""
    by = _change(request, "test_listener", name, 200, {})
    return _done(request, state, await writes.ping(state.database, name, state.outbound, by=by))


@delete("/{name:str}", status_code=200)
async def remove_listener(request: Request[Any, Any, Any], state: State, name: Name) -> answers.OneListener:
    """Remove it, and what is known of it; the answer is what it was."""
    was = await answers.listener(state.database, name)
    await writes.remove(state.database, name, by=_change(request, "remove_listener", name, 200, {}))
    return _done(request, state, was)


def _done(request: Request[Any, Any, Any], state: State, answer: T) -> T:
    """The change is in the audit log already; deliveries begin at once."""
    request.state.audit = {"written": True}
    if deliveries := state.get("deliveries"):
        deliveries.changed()
    return answer


def _change(request: Request[Any, Any, Any], action: str, name: str, status: int, detail: dict[str, object]) -> Change:
    """The row that is written in the transaction that makes the change; or by the middleware, should it be refused."""
    actor = request.state.actor
    request.state.audit = {"action": action, "target": name, "detail": detail}
    return Change(actor.name, actor.role, request.method, request.url.path, action, name, status, detail)


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
