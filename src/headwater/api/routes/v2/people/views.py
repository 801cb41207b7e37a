"""`/api/v2/views`: pages under a name, for everyone or for oneself."""

from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from litestar import Request, delete, get, put
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter

from headwater.answer.people import views as answers
from headwater.api.audit import audited_change
from headwater.api.authors import ANONYMOUS, As, author
from headwater.api.routes.v2.parameters import Segment
from headwater.errors import Forbidden, InvalidQuestion
from headwater.intake.people import views as writes

Shared = Annotated[bool, QueryParameter(description="The view of everyone with this name; default: your own.")]


class WantedView(msgspec.Struct, forbid_unknown_fields=True):
    """`address`: path and query below the page's base. `shared`: for everyone; needs the role write."""

    address: str
    shared: bool = False


@get("/views")
async def list_views(request: Request[Any, Any, Any], state: State, as_: As = None) -> answers.SavedViews:
    """List saved views: everyone's and your own."""
    name = author(request, as_)
    return await answers.views(state.database, "" if name == ANONYMOUS else name)


@put("/views/{name:str}", opt={"role": "read"})
async def save_view(
    request: Request[Any, Any, Any], state: State, name: Segment, data: JSONBody[WantedView], as_: As = None
) -> answers.SavedView:
    """Save a view under a name, in place of the one that has it."""
    title = writes.check_name(unquote(name))
    owner = _owner(request, data.shared, as_)
    detail: dict[str, object] = {"shared": data.shared, "address": data.address[:2000]}
    by = audited_change(request, "save_view", title, detail, by=author(request, as_))
    row = await writes.save(state.database, owner=owner, name=title, address=data.address, by=by)
    request.state.audit = {"written": True}
    return answers.describe_view(row)


@delete("/views/{name:str}", status_code=200, opt={"role": "read"})
async def remove_view(
    request: Request[Any, Any, Any], state: State, name: Segment, shared: Shared = False, as_: As = None
) -> answers.SavedView:
    """Remove a view: your own, or everyone's."""
    title = unquote(name)
    owner = _owner(request, shared, as_)
    by = audited_change(request, "remove_view", title, {"shared": shared}, by=author(request, as_))
    row = await writes.remove(state.database, owner=owner, name=title, by=by)
    request.state.audit = {"written": True}
    return answers.describe_view(row)


def _owner(request: Request[Any, Any, Any], shared: bool, said: str | None) -> str:
    """Return the owner of the view. Raises Forbidden if the caller may not change views of everyone, InvalidQuestion without a name."""
    if shared:
        actor = request.state.actor
        if not actor.may("write"):
            raise Forbidden(
                f"{actor.name!r} has the role {actor.role}; a view for everyone needs write: save it for yourself",
                role=actor.role,
                needed="write",
            )
        return ""
    name = author(request, said)
    if name == ANONYMOUS:
        raise InvalidQuestion(
            "you are not signed in: save the view for everyone, or keep it in your browser", parameter="shared"
        )
    return name


handlers = [list_views, save_view, remove_view]
