"""Cycles of a directed graph: which nodes are on one, and which cycles come back no earlier than they started.

Nodes are 0 ≤ n < count. Nothing here knows what they stand for, and nothing recurses: chains may be as long as memory.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Arc(NamedTuple):
    """An arc from a node to another, or to itself; `lag` is the gain of following it and may be negative."""

    start: int
    end: int
    lag: int


def components(out: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components, each before those that an arc leads to from it: a topological order of the condensation.

    `out`: of each node those its arcs lead to. Tarjan's algorithm (SIAM J. Comput. 1, 1972), linear; the nodes of a component ascend.
    """
    seen, least = [-1] * len(out), [0] * len(out)
    stack: list[int] = []
    on_stack = [False] * len(out)
    found: list[list[int]] = []
    clock = 0
    for root in range(len(out)):
        work = [(root, 0)] if seen[root] < 0 else []
        while work:
            node, nth = work.pop()
            if seen[node] < 0:
                seen[node] = least[node] = clock
                clock += 1
                stack.append(node)
                on_stack[node] = True
            for place in range(nth, len(out[node])):
                other = out[node][place]
                if seen[other] < 0:
                    # Looked at once more when the other is done: then what it can come back to is known.
                    work += [(node, place), (other, 0)]
                    break
                if on_stack[other]:
                    least[node] = min(least[node], least[other])
            else:
                if least[node] == seen[node]:
                    members = [stack.pop()]
                    while members[-1] != node:
                        members.append(stack.pop())
                    for each in members:
                        on_stack[each] = False
                    found.append(sorted(members))
    return found[::-1]


def without_lag(count: int, arcs: Sequence[Arc]) -> list[list[int]]:
    """Return cycles whose lags add up to nothing or less, each as the numbers of its arcs in order. Without one arc of
    each, no such cycle is left.

    The arc with the least lag counts among parallel ones. O(nodes × arcs) at worst (Bellman and Ford), a few rounds as a rule.
    """
    left = dict(enumerate(arcs))
    found: list[list[int]] = []
    while (cycle := _cycle_without_lag(count, left)) is not None:
        found.append(cycle)
        del left[min(cycle, key=lambda number: arcs[number].lag)]
    return found


def _cycle_without_lag(count: int, arcs: dict[int, Arc]) -> list[int] | None:
    # A simple cycle has at most `count` arcs, so with each a little shorter just those without lag have a negative length.
    lengths = {number: arc.lag * (count + 1) - 1 for number, arc in arcs.items()}
    distance = [0] * count
    came: list[int | None] = [None] * count
    last = None
    for _ in range(count + 1):
        last = None
        for number, arc in arcs.items():
            if distance[arc.start] + lengths[number] < distance[arc.end]:
                distance[arc.end] = distance[arc.start] + lengths[number]
                came[arc.end] = number
                last = arc.end
        if last is None:
            return None
    assert last is not None
    # So many steps back from what still got shorter is on the cycle.
    node = last
    for _ in range(count):
        node = arcs[_not_none(came[node])].start
    cycle = [_not_none(came[node])]
    while arcs[cycle[-1]].start != node:
        cycle.append(_not_none(came[arcs[cycle[-1]].start]))
    return cycle[::-1]


def _not_none(number: int | None) -> int:
    assert number is not None
    return number
