"""The first of the troubles upstream that explain one. Pure: nodes are ids, and the caller says which are in trouble."""

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any


def first_cause(
    id_: uuid.UUID,
    above: Mapping[uuid.UUID, set[uuid.UUID]],
    troubled: Collection[uuid.UUID],
    order: Callable[[uuid.UUID], Any],
) -> uuid.UUID | None:
    """Return the troubled node furthest upstream that is reached over troubled nodes, or over one in between that is none; None: `id_` is the first.

    `order`: sorts troubled nodes, the likeliest cause first. Where troubles explain each other in turns, it decides.
    """
    seen, fresh = {id_}, [id_]
    while fresh:
        for up in sorted(above.get(fresh.pop(), ())):
            if up in seen:
                continue
            if up in troubled or any(far in troubled for far in above.get(up, ())):
                seen.add(up)
                fresh.append(up)
    reached = {each for each in seen if each in troubled}
    sources = [each for each in reached if not (_up(each, above, troubled) - {each})] or list(reached)
    first = min(sources, key=order)
    return None if first == id_ else first


def _up(id_: uuid.UUID, above: Mapping[uuid.UUID, set[uuid.UUID]], troubled: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """The troubles directly above: a neighbour, or what is one step beyond a neighbour that is none."""
    found: set[uuid.UUID] = set()
    for up in above.get(id_, ()):
        found |= {up} if up in troubled else {far for far in above.get(up, ()) if far in troubled}
    return found
