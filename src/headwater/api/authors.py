"""Who said it: the one place that knows how a request tells its author."""

from typing import Annotated, Any

from litestar import Request
from litestar.params import QueryParameter

ANONYMOUS = "anonymous"

# On an open server a request names its author. With a sign-in or a key, that decides.
As = Annotated[
    str | None, QueryParameter(name="as", max_length=200, description="The author, on a server without sign-in.")
]


def author(request: Request[Any, Any, Any], said: str | None = None) -> str:
    """The name of who changes something: the authenticated actor's, else what was said, else `anonymous`."""
    actor = getattr(request.state, "actor", None)
    if actor is not None and actor.via != "open":
        return str(actor.name)
    return (said or "").strip().replace("\0", "") or ANONYMOUS
