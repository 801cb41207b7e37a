"""The shortest way from any of some starts to each of some ends, over edges in memory."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T", bound=str)


def shortest_ways(edges: Iterable[tuple[T, T]], starts: Collection[T], ends: Sequence[T]) -> dict[T, list[T]]:
    """Return for each end that can be reached the nodes of one shortest way to it, the start first. Equal ways: the one that sorts first."""
    after: dict[T, set[T]] = {}
    for source, target in edges:
        after.setdefault(source, set()).add(target)
    came_from: dict[T, T | None] = dict.fromkeys(sorted(starts))
    queue = deque(came_from)
    while queue:
        node = queue.popleft()
        for target in sorted(after.get(node, ())):
            if target not in came_from:
                came_from[target] = node
                queue.append(target)
    ways: dict[T, list[T]] = {}
    for end in ends:
        at: T | None = end if end in came_from else None
        way = []
        while at is not None:
            way.append(at)
            at = came_from[at]
        if way:
            ways[end] = way[::-1]
    return ways
