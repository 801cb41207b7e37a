"""Find the candidate-ready items of a large plan without scanning every item: those that wait for no item of another stage.

Items of one stage may still wait for one another, so the candidates include every ready item and may include others.
"""

from collections.abc import Iterator

from headwater.entities.plans.plan import Plan
from headwater.entities.time.ordinals import NONE, Ordinals


def free(plan: Plan, over: Ordinals, left: Ordinals) -> Ordinals:
    """The numbers in `left` whose items wait for no other stage. `over`: the numbers of finished items."""
    waiting: dict[str, list[tuple[int, Ordinals]]] = {}
    for at in range(len(plan.stages)):
        for name, made in _makes(plan, at, over):
            waiting.setdefault(name, []).append((at, made))
    found: list[Ordinals] = []
    for at, stage in enumerate(plan.stages):
        some = left & Ordinals.between(stage.start, stage.start + stage.count)
        for block in stage.blocks if some else ():
            if block.action == "restore":
                continue  # needs nothing
            for name, instances in block.instances.items():
                for link in plan.graph.upstream(name):
                    others = [made for other, made in waiting.get(link.upstream, ()) if other != at]
                    if others and link.edge is not None:
                        some -= block.numbers(name, link.edge.affected(NONE.union(*others), instances))
                    elif others and not link.carried:
                        some -= block.numbers(name, instances)
        found.append(some)
    return NONE.union(*found)


def _makes(plan: Plan, at: int, over: Ordinals) -> Iterator[tuple[str, Ordinals]]:
    """Yield the instances, by entity, that the unfinished items of a stage make."""
    stage = plan.stages[at]
    some = Ordinals.between(stage.start, stage.start + stage.count) - over
    for block in stage.blocks if some else ():
        yield from block.makes(block.runs_of(some)).items()
