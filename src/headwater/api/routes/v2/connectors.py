"""`/api/v2/connectors`: systems that are read on a schedule. Looking needs the role read, changing admin."""

from typing import Annotated, Any

from litestar import Request, Router, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter

from headwater.answer import connectors as answers
from headwater.api.audit import audited_change
from headwater.intake.connectors import connectors as writes

Name = Annotated[str, PathParameter(description="The connector's name.")]
_ADMIN = {"role": "admin"}


@get()
async def list_connectors(state: State) -> answers.ConnectorList:
    """List connectors with their lag, rows, errors and next pull."""
    return await answers.connectors(state.database)


@get("/kinds")
async def list_kinds() -> answers.KindList:
    """List the kinds of connectors, and what each asks for."""
    return answers.kinds()


@get("/{name:str}")
async def get_connector(state: State, name: Name) -> answers.ConnectorHistory:
    """Show one connector and its last pulls."""
    return await answers.connector(state.database, name)


@post(status_code=200, opt=_ADMIN)
async def add_connector(
    request: Request[Any, Any, Any], state: State, data: JSONBody[writes.ConnectorRequest]
) -> writes.TestedConnector:
    """Test a connector and add it, or replace one. If `ok` is false, a check failed and nothing was changed."""
    by = audited_change(
        request, "replace_connector" if data.replace else "add_connector", data.name[:100], _about(data)
    )
    tested = await writes.add_connector(state.database, data, state.outbound.key, by=by)
    request.state.audit = {"written": True}
    state.puller.wake.set()
    return tested


@post("/{name:str}/test", status_code=200, opt=_ADMIN)
async def test_connector(request: Request[Any, Any, Any], state: State, name: Name) -> writes.TestedConnector:
    """Try what a pull needs, and say which grants are missing."""
    by = audited_change(request, "test_connector", name, {})
    tested = await writes.test_connector(state.database, name, state.outbound.key, by=by)
    request.state.audit = {"written": True}
    return tested


@post("/{name:str}/pull", status_code=202, opt=_ADMIN)
async def pull_connector(request: Request[Any, Any, Any], state: State, name: Name) -> answers.ConnectorHistory:
    """Ask for a pull now. It begins as soon as a server is free; ask for the connector to see how it ended."""
    await writes.request_pull(state.database, name, by=audited_change(request, "pull_connector", name, {}, status=202))
    request.state.audit = {"written": True}
    state.puller.wake.set()
    return await answers.connector(state.database, name)


@post(["/{name:str}/pause", "/{name:str}/resume"], status_code=200, opt=_ADMIN)
async def pause_connector(request: Request[Any, Any, Any], state: State, name: Name) -> answers.ConnectorHistory:
    """Stop or resume the schedule of a connector."""
    paused = request.url.path.endswith("/pause")
    by = audited_change(request, "pause_connector" if paused else "resume_connector", name, {})
    await writes.pause_connector(state.database, name, paused, by=by)
    request.state.audit = {"written": True}
    state.puller.wake.set()
    return await answers.connector(state.database, name)


@delete("/{name:str}", status_code=200, opt=_ADMIN)
async def remove_connector(request: Request[Any, Any, Any], state: State, name: Name) -> answers.ConnectorList:
    """Remove a connector and its secrets, and return the others. What it reported stays."""
    await writes.remove_connector(state.database, name, by=audited_change(request, "remove_connector", name, {}))
    request.state.audit = {"written": True}
    return await answers.connectors(state.database)


def _about(data: writes.ConnectorRequest) -> dict[str, object]:
    """Return what the audit keeps of a request: no value of a setting, which may be a secret under a wrong name."""
    return {"kind": data.kind[:40], "settings": sorted(name[:40] for name in data.settings)[:50]}


router = Router(
    "/api/v2/connectors",
    route_handlers=[
        list_connectors,
        list_kinds,
        get_connector,
        add_connector,
        test_connector,
        pull_connector,
        pause_connector,
        remove_connector,
    ],
    tags=["Headwater"],
)
