"""Of a large plan what may be ready, without a look at each item: nothing that it needs is still to be made by an item of another stage.

Those of one stage may still wait for one another, so this is more than what is ready, never less.
"""

from headwater.entities.ordinals import NONE, Ordinals
from headwater.entities.plan import Plan


def free(plan: Plan, over: Ordinals, left: Ordinals) -> Ordinals:
    """Of these numbers, `left`, those that wait for no other stage; `over`: the numbers of what is done."""
    waiting = [_makes(plan, at, over) for at in range(len(plan.stages))]
    found = NONE
    for at, stage in enumerate(plan.stages):
        some = left & Ordinals.between(stage.start, stage.start + stage.count)
        if not some:
            continue
        for block in stage.blocks:
            if block.action == "restore":
                continue  # needs nothing
            for name, instances in block.instances.items():
                for link in plan.graph.upstream(name):
                    others = NONE.union(
                        *(each.get(link.upstream, NONE) for nth, each in enumerate(waiting) if nth != at)
                    )
                    if others and link.edge is not None:
                        some -= block.numbers(name, link.edge.affected(others, instances))
                    elif others and not link.carried:
                        some -= block.numbers(name, instances)
        found |= some
    return found


def _makes(plan: Plan, at: int, over: Ordinals) -> dict[str, Ordinals]:
    """What the items of a stage that are not over make."""
    stage = plan.stages[at]
    some = Ordinals.between(stage.start, stage.start + stage.count) - over
    found: dict[str, Ordinals] = {}
    for block in stage.blocks if some else ():
        for name, made in block.makes(block.runs_of(some)).items():
            found[name] = found.get(name, NONE) | made
    return found
