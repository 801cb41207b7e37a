"""Refuse query parameters that a route does not have: a misspelt filter would be ignored, and the answer be of everything.

Only below `/api/v2`; `/api/v1` ignores them, as Marquez does.
"""

import difflib
from functools import cache
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from headwater.errors import InvalidQuestion

_RESERVED = frozenset({"body", "cookies", "data", "headers", "query", "request", "scope", "socket", "state"})


async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Raise InvalidQuestion for a parameter that the route does not have, with the nearest one that it has."""
    if not connection.query_params or not connection.scope.get("path_template", "").startswith("/api/v2/"):
        return
    # The route's own handler: the one that a guard is given is a copy, new for each request, and would be remembered for good.
    known = query_parameters(connection.scope["route_handler"])
    for name in connection.query_params:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidQuestion(f"this route has no parameter {name[:100]!r}{meant} ({has})", parameter=name[:100])


@cache
def query_parameters(handler: BaseRouteHandler) -> frozenset[str]:
    """The names of a route's query parameters. Path parameters are among them; they are never sent in a query."""
    found = set()
    for name, field in handler.parsed_fn_signature.parameters.items():
        if name not in _RESERVED:
            given = field.kwarg_definition
            found.add(getattr(given, "query", None) or getattr(given, "name", None) or name)
    return frozenset(found)
