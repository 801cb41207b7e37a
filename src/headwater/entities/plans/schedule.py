"""Estimate how long a plan takes and what it costs, before it begins.

A list schedule: a ready item starts in the order of its turn (`priority.py`) as soon as its producer, its pool and the
whole plan have a slot and the window is open. Every run takes its producer's median, or, for the other figure, its 95th
percentile: all runs being slow at once is rare, so p95 is late rather than early.

Up to `EXACT` items are placed one by one. Above that stages are: each begins when those it needs are over, and takes
its work divided by its slots; and the plan ends no earlier than the work of each producer or pool divided by its slots.
This is too late for stages that could overlap, and too early for stages that share slots. `approximate` is true then.
"""

import heapq
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.entities.plans.blocks import Block
from headwater.entities.plans.plan import Item, Plan
from headwater.entities.plans.priority import is_chained
from headwater.entities.plans.runs import Producer
from headwater.entities.plans.window import Window
from headwater.errors import InvalidPlan

EXACT = 2_000


class Usage(NamedTuple):
    """The cost of one run of a producer for one period: seconds, and bytes and money if they are known. A run of n periods takes n times that."""

    p50: float
    p95: float
    bytes: float = 0
    money: float = 0


class Limits(NamedTuple):
    """The number of items that may run at the same time: of a producer, of a pool, of all; unlimited if absent. Items begin only in the `window`."""

    producers: Mapping[str, int] = {}
    pools: Mapping[str, int] = {}
    total: int | None = None
    window: Window | None = None


class Seconds(NamedTuple):
    """The median and the 95th percentile of a length of time."""

    p50: float
    p95: float


class Estimate(NamedTuple):
    """finish: seconds from the start to the end of the last item. compute: those of all items together. runs: items that run a producer.

    unblocks: by entity when the last of it is right, in seconds; the first ones first. unknown: producers of which no usage was given, and that count
    as taking nothing.
    """

    finish: Seconds
    compute: Seconds
    runs: int
    bytes: float
    money: float
    unblocks: dict[str, Seconds]
    unknown: tuple[str, ...]
    approximate: bool


_NOTHING = Usage(0, 0)
_ANY = Limits()


def estimate(
    plan: Plan,
    usage: Mapping[str, Usage],
    limits: Limits = _ANY,
    *,
    restore: Usage = _NOTHING,
    manual: Usage = _NOTHING,
    begin: int = 0,
) -> Estimate:
    """Estimate a plan by the time that its producers take.

    `restore`: for one instance; `manual`: for one period of what a person does. They count in `total`,
    and take no slot of a producer. `begin`: the instant from which seconds are counted, where there is a window. InvalidPlan if a limit is less
    than one.
    """
    for name, limit in [*limits.producers.items(), *limits.pools.items(), ("total", limits.total)]:
        if limit is not None and limit < 1:
            raise InvalidPlan(f"{name} may do {limit} at a time; write 1 or more", limit=limit)
    taken = {"restore": restore, "manual": manual}

    def takes(block: Block) -> Usage:
        name = block.producer.name if block.producer is not None else ""
        return taken[block.action] if block.action in taken else usage.get(name, _NOTHING)

    blocks = [block for stage in plan.stages for block in stage.blocks]
    reruns = [block for block in blocks if block.action == "rerun"]
    periods = [(takes(block), block.runs.count) for block in blocks]
    exact = plan.count <= EXACT
    items = list(plan.items()) if exact else []
    ends = [
        _placed(items, blocks, plan, [getattr(each, which) for each, _ in periods], limits, begin)
        if exact
        else _by_stages(plan, [getattr(each, which) for each, _ in periods], limits)
        for which in ("p50", "p95")
    ]
    unblocks = {name: Seconds(ends[0][name], ends[1][name]) for name in ends[0]}
    finish = _most(unblocks.values()) if exact else _no_sooner(unblocks, blocks, periods, limits)
    if limits.window is not None and not exact:
        over = limits.window.over
        unblocks = {name: Seconds(*(over(begin, end) for end in ends)) for name, ends in unblocks.items()}
        finish = Seconds(*(over(begin, end) for end in finish)) if unblocks else finish
    names = {block.producer.name for block in reruns if block.producer is not None}
    return Estimate(
        finish=finish,
        compute=Seconds(*(sum(getattr(each, which) * count for each, count in periods) for which in ("p50", "p95"))),
        runs=sum(block.count for block in reruns),
        bytes=sum(each.bytes * count for each, count in periods),
        money=sum(each.money * count for each, count in periods),
        unblocks=dict(sorted(unblocks.items(), key=lambda each: each[1])),
        unknown=tuple(sorted(names - set(usage))),
        approximate=not exact,
    )


def _most(ends: Iterable[Seconds]) -> Seconds:
    ends = list(ends)
    return Seconds(max((end.p50 for end in ends), default=0.0), max((end.p95 for end in ends), default=0.0))


def _slots(producer: Producer | None, action: str, limits: Limits) -> list[tuple[str, int]]:
    """Names of what an item takes a slot of, with how many there are."""
    found = [] if limits.total is None else [("total", limits.total)]
    if producer is not None and action == "rerun":
        if producer.name in limits.producers:
            found.append((f"producer {producer.name}", limits.producers[producer.name]))
        if producer.pool in limits.pools:
            found.append((f"pool {producer.pool}", limits.pools[producer.pool]))
    return found


def _placed(
    items: list[Item], blocks: list[Block], plan: Plan, seconds: list[float], limits: Limits, begin: int
) -> dict[str, float]:
    """Return when each entity is right, placing item by item."""
    which = {id(block): nth for nth, block in enumerate(blocks)}
    of = [which[id(plan.block(item.number))] for item in items]
    slots = [_slots(block.producer, block.action, limits) for block in blocks]
    free = {name: count for each in slots for name, count in each}
    waits = [item.needs.count for item in items]
    readers = _readers(items)
    order = [number for turn in plan.turns for number in turn.members().tolist()]
    turn_of = {number: turn for turn, number in enumerate(order)}
    # Turns of ready items by block: those of one block wait for the same slots.
    ready: dict[int, list[int]] = {}
    for turn, number in enumerate(order):
        if not waits[number]:
            ready.setdefault(of[number], []).append(turn)
    running: list[tuple[float, int]] = []
    ends: dict[str, float] = {}
    now = opens = 0.0
    closes = 0.0 if limits.window is not None else float("inf")
    while ready or running:
        if limits.window is not None and now >= closes:
            opens, closes = (at - begin for at in limits.window.opening(begin + math.floor(now)))
        while opens <= now and (fit := [each for each in ready if all(free[name] for name, _ in slots[each])]):
            block = min(fit, key=lambda each: ready[each][0])
            number = order[heapq.heappop(ready[block])]
            if not ready[block]:
                del ready[block]
            for name, _ in slots[block]:
                free[name] -= 1
            heapq.heappush(running, (now + seconds[block] * items[number].runs.count, number))
        if opens > now and ready and (not running or opens <= running[0][0]):
            now = opens
            continue
        now, number = heapq.heappop(running)
        for name, _ in slots[of[number]]:
            free[name] += 1
        for entity in items[number].makes:
            ends[entity] = max(ends.get(entity, 0.0), now)
        for reader in readers[number]:
            waits[reader] -= 1
            if not waits[reader]:
                heapq.heappush(ready.setdefault(of[reader], []), turn_of[reader])
    return ends


def _readers(items: list[Item]) -> list[list[int]]:
    """Return for each number the items that need it."""
    readers: list[list[int]] = [[] for _ in items]
    for item in items:
        for need in item.needs.members().tolist():
            readers[need].append(item.number)
    return readers


def _by_stages(plan: Plan, seconds: list[float], limits: Limits) -> dict[str, float]:
    """Return when each entity is right, placing stage by stage."""
    ends: dict[str, float] = {}
    over: list[float] = []
    at = 0
    for stage in plan.stages:
        took = 0.0
        for block in stage.blocks:
            slots = [count for _, count in _slots(block.producer, block.action, limits)]
            width = 1 if len(stage.blocks) > 1 or is_chained(plan.graph, block) else min([*slots, block.count])
            rounds = -(-block.count // width)
            spent = min(seconds[at] * block.longest * rounds, seconds[at] * block.runs.count)
            took = took + spent if len(stage.blocks) > 1 else spent
            at += 1
        over.append(took + max((over[other] for other in stage.needs), default=0.0))
        for block in stage.blocks:
            for name in block.made:
                ends[name] = max(ends.get(name, 0.0), over[-1])
    return ends


def _no_sooner(
    unblocks: Mapping[str, Seconds], blocks: list[Block], periods: list[tuple[Usage, int]], limits: Limits
) -> Seconds:
    """The last end, and no earlier than all work is done by the slots that there are."""
    work: dict[tuple[str, int], list[float]] = {}
    for block, (usage, count) in zip(blocks, periods, strict=True):
        for slot in _slots(block.producer, block.action, limits):
            known = work.setdefault(slot, [0.0, 0.0])
            known[0] += usage.p50 * count
            known[1] += usage.p95 * count
    least = [Seconds(p50 / slots, p95 / slots) for (_, slots), (p50, p95) in work.items()]
    return _most([*unblocks.values(), *least])
