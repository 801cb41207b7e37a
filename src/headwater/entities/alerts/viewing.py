"""A saved view as a selector: the addresses of pages that list datasets and jobs, read as the page reads them. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from headwater.entities.alerts.selectors import VIEW, Selector, ViewScope
from headwater.errors import InvalidQuestion
from headwater.model.patterns import Pattern

PREFIX: Final = f"{VIEW}:"
_LISTED: Final = {"datasets": "dataset", "jobs": "job"}
_FILTERS: Final = {"namespace": "namespaces", "platform": "platforms", "tag": "tags", "owner": "owners"}
# How a page is drawn, which changes nothing of what it lists.
_DRAWN: Final = frozenset(
    "page sort order without open fold theme zone depth columns indirect selected field nodes group edge times lens size at tab".split()
)


def view_selector(name: str, address: str) -> Selector:
    """Return the selector of a saved view. Raises InvalidQuestion for a page that lists no datasets or jobs, or by what alerts do not know."""
    parts = urlsplit(address)
    path = [_segment(one) for one in parts.path.strip("/").split("/")]
    query = parse_qs(parts.query)
    scope = _scope(name, path, query)
    return Selector(VIEW, name, Pattern(""), scope)


def _scope(name: str, path: Sequence[str], query: Mapping[str, list[str]]) -> ViewScope:
    match path:
        case ["catalogue", kind] if kind in _LISTED:
            return ViewScope(kinds=(_LISTED[kind],), **_filters(name, query))
        case ["datasets" | "jobs" as kind, id_, *_]:
            return ViewScope(ids=(f"{_LISTED[kind]}:{id_}",))
        case ["groups", key, value]:
            return ViewScope(tags=(f"{key}:{value}",))
        case ["lineage", node]:
            return _lineage(name, node, query)
    raise InvalidQuestion(
        f"the view {name!r} lists no datasets or jobs; subscribe to a view of the catalogue, of lineage, of a team or of an object",
        parameter="selector",
    )


def _lineage(name: str, node: str, query: Mapping[str, list[str]]) -> ViewScope:
    if not node.startswith("dataset:"):
        raise InvalidQuestion(
            f"the view {name!r} begins at {node[:100]!r}; a subscription to lineage begins at a dataset",
            parameter="selector",
        )
    id_ = node.removeprefix("dataset:")
    directions = query.get("direction", ["upstream", "downstream"])
    kinds = tuple(query.get("type", ()))
    around = tuple(Selector(one, id_, Pattern(id_)) for one in directions if one in {"upstream", "downstream"})
    return ViewScope(kinds=kinds, around=around, **_filters(name, query, ("direction", "type")))


def _filters(name: str, query: Mapping[str, list[str]], more: Sequence[str] = ()) -> dict[str, Any]:
    other = sorted(query.keys() - _FILTERS.keys() - _DRAWN - set(more))
    if other:
        raise InvalidQuestion(
            f"the view {name!r} is filtered by {', '.join(other)}; a subscription knows {', '.join(_FILTERS)} only: save a view without it",
            parameter="selector",
        )
    return {_FILTERS[key]: tuple(values) for key, values in query.items() if key in _FILTERS}


def _segment(text: str) -> str:
    """Read a segment as the page writes it (`web/src/path-names.ts`)."""
    text = unquote(text).replace("~", "/")
    return re.sub(r"!([0-9A-F]{2})", lambda code: chr(int(code[1], 16)), text)
