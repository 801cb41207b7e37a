"""Nodes that a drawing may show as one, because they hang on the same nodes: the two thousand readers of one table. Pure.

Only what is alike seen from the start is drawn together: the same kind of node, as many hops away, beyond the same nodes. Where ways meet
again (a table that several of the readers write) a node is not alike to those that only one of them writes.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence

import msgspec


class Place(msgspec.Struct, frozen=True):
    """The place of a node in a walk: its kind, its hop (negative upstream), its parent, if any, and the name that identifies it."""

    kind: str
    hop: int
    name: str
    parent: Hashable = None


class Alike(msgspec.Struct, frozen=True):
    """Members by their index, in order. `key`: the same for the same neighbours, with other members too. `is_family`: all have one parent."""

    key: tuple[object, ...]
    members: list[int]
    is_family: bool


def alike(places: Sequence[Place], edges: Iterable[tuple[int, int]], above: int) -> list[Alike]:
    """Return the sets of more than `above` nodes that may be drawn as one. Nodes of hop 0 are in none."""
    near: list[list[int]] = [[] for _ in places]
    rank = [2 * abs(place.hop) + (place.kind != "JOB") for place in places]
    for source, target in edges:
        if rank[source] < rank[target] and places[target].hop > 0:
            near[target].append(source)
        elif rank[target] < rank[source] and places[source].hop < 0:
            near[source].append(target)
    levels: dict[int, list[int]] = defaultdict(list)
    for node, place in enumerate(places):
        if place.hop:
            levels[rank[node]].append(node)
    stands_for: dict[int, str] = {}
    found: list[Alike] = []
    for _, level in sorted(levels.items()):
        keys = {}
        for node in level:
            beyond = [stands_for.get(other) or places[other].name for other in {*near[node]}]
            names = tuple(sorted({*beyond}))
            keys[node] = (places[node].kind, places[node].hop, names, len(names) < len(beyond))
        left: Collection[int] = level
        for is_family in (True, False):
            sets: dict[tuple[object, ...], list[int]] = defaultdict(list)
            for node in left:
                parent = places[node].parent
                if parent is not None or not is_family:
                    sets[(*keys[node], str(parent)) if is_family else keys[node]].append(node)
            for key, members in sets.items():
                if len(members) > above:
                    found.append(Alike(key, members, is_family))
                    stands_for.update(dict.fromkeys(members, repr(key)))
            left = [node for node in left if node not in stands_for]
    return found
