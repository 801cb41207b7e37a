"""Edges drawn anew between what stands for their ends: children for their parents, nodes for their groups. Pure; counts are kept.

`bridged` leaves nodes out and draws the ways through them as edges, so that what was connected stays connected.
"""

import datetime as dt
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping

import msgspec

# The origin of an edge when several are drawn as one, the strongest first.
_ORIGINS = ("OBSERVED", "MANUAL", "DECLARED", "PARSED_SQL")


class Flow(msgspec.Struct, frozen=True):
    """An edge between two nodes (by id). `count`: how many edges it stands for; `via`: how many nodes that are not shown it leads through."""

    source: str
    target: str
    origin: str
    first_seen: dt.datetime
    last_seen: dt.datetime
    count: int = 1
    via: int = 0


def collapsed(flows: Iterable[Flow], stands_for: Mapping[str, str]) -> tuple[list[Flow], dict[str, int]]:
    """Edges between what stands for their ends (a node that is not in the mapping stands for itself), and the number of edges inside each.

    The counts of all edges and of all that is inside add up to the counts given. An empty mapping changes nothing but the order, provided
    no two flows have the same ends; an edge from a node to itself stays when nothing was drawn together to make it.
    """
    found: dict[tuple[str, str], Flow] = {}
    inside: dict[str, int] = defaultdict(int)
    for flow in flows:
        source, target = stands_for.get(flow.source, flow.source), stands_for.get(flow.target, flow.target)
        if source == target and flow.source != flow.target:
            inside[source] += flow.count
            continue
        moved = msgspec.structs.replace(flow, source=source, target=target)
        known = found.get((source, target))
        found[source, target] = moved if known is None else _together(known, moved)
    return [found[key] for key in sorted(found)], dict(inside)


def _together(one: Flow, other: Flow) -> Flow:
    return Flow(
        one.source,
        one.target,
        min(one.origin, other.origin, key=_strength),
        min(one.first_seen, other.first_seen),
        max(one.last_seen, other.last_seen),
        one.count + other.count,
        min(one.via, other.via),
    )


def _strength(origin: str) -> int:
    return _ORIGINS.index(origin) if origin in _ORIGINS else 0


def bridged(
    flows: Collection[Flow],
    kept: Collection[str],
    allowed: Mapping[str, Collection[tuple[str, str]]] | None = None,
    most: int = 20_000,
) -> tuple[list[Flow], bool]:
    """Edges between the kept nodes: their own, and one for each pair that a way through nodes that are not kept connects.

    The edge describes the shortest such way: `via` counts its nodes, `origin` is the weakest on it, `first_seen` is that of its newest edge,
    `last_seen` that of its stalest. `allowed` restricts the nodes passed through to (before, after) pairs. A way back to its start is ignored.
    The bool is true if edges are missing: there were more than `most`, or too many ways to search.
    """
    keep = set(kept)
    restricted = {node: set(pairs) for node, pairs in (allowed or {}).items()}
    out: dict[str, list[Flow]] = defaultdict(list)
    for flow in sorted(flows, key=lambda f: (f.source, f.target)):
        out[flow.source].append(flow)
    found: dict[tuple[str, str], Flow] = {}
    work = 0
    for start in sorted(keep):
        # A node with `allowed` pairs is a separate state for each node it is entered from.
        seen: set[tuple[str, str | None]] = set()
        queue: deque[tuple[str, str, Flow | None]] = deque([(start, "", None)])
        while queue:
            here, before, so_far = queue.popleft()
            for flow in out[here]:
                work += 1
                if so_far is not None and here in restricted and (before, flow.target) not in restricted[here]:
                    continue
                way = flow if so_far is None else _onward(so_far, flow)
                if flow.target in keep:
                    if flow.target != start or way.via == 0:
                        found.setdefault((start, flow.target), way)
                    continue
                place = (flow.target, here if flow.target in restricted else None)
                if place not in seen:
                    seen.add(place)
                    queue.append((flow.target, here, msgspec.structs.replace(way, via=way.via + 1)))
            if len(found) > most or work > 50 * most:
                return [found[key] for key in sorted(found)[:most]], True
    return [found[key] for key in sorted(found)], False


def _onward(way: Flow, flow: Flow) -> Flow:
    return Flow(
        way.source,
        flow.target,
        max(way.origin, flow.origin, key=_strength),
        max(way.first_seen, flow.first_seen),
        min(way.last_seen, flow.last_seen),
        1,
        way.via,
    )


def connected(flows: Iterable[Flow], starts: Collection[str], directions: Collection[str]) -> set[str]:
    """The nodes that ways from the starts lead to, upstream, downstream or both (never up and then down), and the starts."""
    following: dict[str, dict[str, list[str]]] = {"upstream": defaultdict(list), "downstream": defaultdict(list)}
    for flow in flows:
        following["upstream"][flow.target].append(flow.source)
        following["downstream"][flow.source].append(flow.target)
    found = set(starts)
    for direction in directions:
        met = set(starts)
        queue = list(starts)
        while queue:
            for other in following[direction][queue.pop()]:
                if other not in met:
                    met.add(other)
                    queue.append(other)
        found |= met
    return found


def leading(
    flows: Collection[Flow], wanted: Collection[Flow], starts: Collection[str], directions: Collection[str]
) -> list[Flow]:
    """Return the wanted flows, and those on the ways from the starts to them: a wanted flow lies further `upstream`, or `downstream`.

    A static table whose writer ran long ago would else be cut off with all that feeds it, though that is in the window.
    """
    kept = dict.fromkeys(wanted)
    for direction in directions:
        near, far = ("target", "source") if direction == "upstream" else ("source", "target")
        met = connected(flows, starts, (direction,))
        away = [flow for flow in flows if getattr(flow, near) in met]
        back = [msgspec.structs.replace(f, source=getattr(f, far), target=getattr(f, near)) for f in away]
        before = connected(
            back, {getattr(flow, near) for flow in wanted if getattr(flow, near) in met}, ("downstream",)
        )
        kept |= dict.fromkeys(flow for flow in away if getattr(flow, far) in before)
    return [flow for flow in flows if flow in kept]


def ancestors(parents: Mapping[str, str], level: str) -> dict[str, str]:
    """Return the job that each job is grouped under. `root`: the topmost above it. `parent`: its parent, for those that are no parents
    themselves.

    Jobs that stand for themselves are absent. Where parents go round in a circle, the first by id is the top.
    """
    if level == "parent":
        are_parents = set(parents.values())
        return {job: parent for job, parent in parents.items() if job not in are_parents and job != parent}
    found = {}
    for job in parents:
        way = [job]
        while (parent := parents.get(way[-1])) is not None and parent not in way:
            way.append(parent)
        top = way[-1] if parent is None else min(way[way.index(parent) :])
        if top != job:
            found[job] = top
    return found
