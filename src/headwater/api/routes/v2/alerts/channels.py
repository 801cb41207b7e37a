"""`/api/v2/admin/alert-channels`: the places beside mail that messages of alerts go to."""

from typing import Annotated, Any

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer.alerts import alerts as answers
from headwater.api.alerting import mail_server
from headwater.api.audit import audited_change
from headwater.intake.alerts import channels as writes

Name = Annotated[str, PathParameter(description="The channel's name.")]


class PingedChannel(msgspec.Struct, frozen=True):
    """`error`: why the test message was not taken; null if it was."""

    name: str
    ok: bool
    error: str | None


@get()
async def list_channels(state: State) -> answers.Channels:
    """List the channels, without their addresses, which are keys."""
    return await answers.channels(state.database)


@post(status_code=201)
async def add_channel(
    request: Request[Any, Any, Any], state: State, data: JSONBody[writes.ChannelRequest]
) -> writes.AddedChannel:
    """Add a channel. Only this answer shows a generated secret."""
    by = audited_change(request, "add_channel", data.name[:100], {"kind": data.kind[:40]}, status=201)
    added = await writes.add_channel(state.database, data, state.outbound, by=by)
    request.state.audit = {"written": True}
    return added


@post("/{name:str}/test", status_code=200)
async def test_channel(request: Request[Any, Any, Any], state: State, name: Name) -> PingedChannel:
    """Send a test message to a channel."""
    by = audited_change(request, "test_channel", name, {})
    outcome = await writes.ping_channel(state.database, name, state.outbound, mail_server(state.settings), by=by)
    request.state.audit = {"written": True}
    # The status, not what an address inside of a network may answer.
    error = outcome.error.partition(":")[0] if outcome.error and outcome.error.startswith("HTTP ") else outcome.error
    return PingedChannel(name, outcome.error is None, error)


@delete("/{name:str}", status_code=200)
async def remove_channel(request: Request[Any, Any, Any], state: State, name: Name) -> answers.Channels:
    """Remove a channel, and return the others."""
    await writes.remove_channel(state.database, name, by=audited_change(request, "remove_channel", name, {}))
    request.state.audit = {"written": True}
    return await answers.channels(state.database)


router = Router(
    "/api/v2/admin/alert-channels",
    route_handlers=[list_channels, add_channel, test_channel, remove_channel],
    opt={"role": "admin"},
    tags=["Administration"],
)
