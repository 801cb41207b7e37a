"""The items of a plan that wait for no other stage: more than the ready ones, and none that needs another stage's unfinished item."""

import random

from tests.unit.entities.plans.drawn_plans import asked

from headwater.entities.plans.ready_items import free
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidPlan


def test_what_is_ready_is_free_and_what_waits_for_another_stage_is_not() -> None:
    seen = ready = kept_back = 0
    for seed in range(80):
        chance = random.Random(seed)
        drawn = asked(chance)
        try:
            plan = drawn.plan() if drawn is not None else None
        except InvalidPlan:
            continue
        if plan is None or not 1 < plan.count <= 300:
            continue
        items = list(plan.items())
        stage = [
            next(n for n, one in enumerate(plan.stages) if one.start <= item.number < one.start + one.count)
            for item in items
        ]
        done: set[int] = set()
        for item in items:
            if set(item.needs.members().tolist()) <= done and chance.random() < 0.6:
                done.add(item.number)
        left = {item.number for item in items if item.number not in done and chance.random() < 0.9}
        found = set(free(plan, Ordinals.of(sorted(done)), Ordinals.of(sorted(left))).members().tolist())
        assert found <= left
        for number in left:
            waits = set(items[number].needs.members().tolist()) - done
            assert waits or number in found, (seed, number)
            carried = any(link.carried for name in items[number].makes for link in plan.graph.upstream(name))
            if number in found and not carried:
                assert all(stage[need] == stage[number] for need in waits), (seed, number)
            ready, kept_back = ready + (not waits), kept_back + (number not in found)
        seen += 1
    assert (seen > 30, ready > 200, kept_back > 200) == (True, True, True), (seen, ready, kept_back)
