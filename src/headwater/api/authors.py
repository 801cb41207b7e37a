"""The author of a change: the only place that reads it from a request."""

from typing import Annotated, Any

from litestar import Request
from litestar.params import QueryParameter

ANONYMOUS = "anonymous"

# On an open server the request names the author; otherwise the key or the sign-in does.
As = Annotated[
    str | None, QueryParameter(name="as", max_length=200, description="The author, on a server without sign-in.")
]


def author(request: Request[Any, Any, Any], said: str | None = None) -> str:
    """Return the author of a change: the authenticated actor, else `said`, else `anonymous`."""
    actor = getattr(request.state, "actor", None)
    if actor is not None and actor.via != "open":
        return str(actor.name)
    return (said or "").strip().replace("\0", "") or ANONYMOUS
