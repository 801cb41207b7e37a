"""What of a plan is still needed when some of it was done and turned out the same as before.

Who read something that was made again with equal content read nothing wrong, and need not be made again; nor need those who read only such.
That is known only when the run is over, so a plan is made again from what remains:

    rest = remaining(found, equal={"reads": hours}, changed={})
    found = plan(graph, rest.wrong, exist=…, roots=rest.roots, …)

What was wrong by itself, or is missing, is never let off: its own content is at stake, not that of what it reads.
"""

from typing import NamedTuple

import numpy as np

from headwater.entities.ordinals import NONE, Ordinals
from headwater.entities.plan import Plan, Sets
from headwater.entities.walk import Facts, Walk
from headwater.errors import InvalidPlan


class Remaining(NamedTuple):
    """wrong, roots: what to plan again. cleared: what was wrong only by what it read, which is right: it has its content and needs no run.

    dropped: the numbers of the plan's items that need not run any more, because all that they would make is cleared or done.
    """

    wrong: Sets
    roots: Sets
    cleared: Sets
    dropped: Ordinals


def remaining(found: Plan, equal: Sets, changed: Sets) -> Remaining:
    """What is left of a plan when these were made: `equal` with the content that they had before, `changed` with another.

    Roots of what remains are those that the plan was told of, what is missing, those that read nothing that is wrong (somebody knows why they are
    listed), and who reads something that changed. InvalidPlan where something was done that the plan does not make, or is said to be both.
    """
    wrong, there = found.wrong, {name: found.there(name) for name in found.graph.entities}
    done = _checked(found, equal, changed)
    # Nothing comes through what is right: what was so before, and what turned out to be.
    right = {name: (some - wrong.get(name, NONE)) | equal.get(name, NONE) for name, some in there.items()}
    before = {name: some - wrong.get(name, NONE) for name, some in there.items()}
    explained = _readers(found, there, before, wrong)
    sources: dict[str, Ordinals] = {}
    for name, some in wrong.items():
        own = found.roots.get(name, NONE) & some
        missing = some - found.exist.get(name, NONE)
        sources[name] = (own | missing | (some - explained.get(name, NONE))) - done.get(name, NONE)
    walk = Walk(found.graph, Facts(there.__getitem__, cuts=lambda link: right[link.downstream]), forward=True)
    passing = {name: sources.get(name, NONE) | changed.get(name, NONE) for name in wrong}
    reached = walk.closure(passing)
    left = {name: reached.get(name, NONE) - done.get(name, NONE) for name in wrong}
    renewed = _readers(found, there, right, changed)
    roots = {name: some & (sources[name] | renewed.get(name, NONE)) for name, some in left.items()}
    cleared = {name: some - left[name] - done.get(name, NONE) for name, some in wrong.items()}
    every = found.numbers(found.makes)
    return Remaining(_some(left), _some(roots), _some(cleared), every - found.numbers(_some(left)))


def _readers(found: Plan, there: Sets, cuts: Sets, read: Sets) -> dict[str, Ordinals]:
    """Who needs any of these directly, of those that are not cut off."""
    result: dict[str, Ordinals] = {}
    for name, some in read.items():
        for link in found.graph.downstream(name):
            among = there[link.downstream]
            if link.carried:
                hit = _next(some, among)
            elif link.edge is None:
                hit = among if some else NONE
            else:
                hit = link.edge.affected(some, among)
            result[link.downstream] = result.get(link.downstream, NONE) | (hit - cuts[link.downstream])
    return result


def _next(some: Ordinals, there: Ordinals) -> Ordinals:
    """Of each the one after it that is there."""
    if not some or not there:
        return NONE
    within = Ordinals.joined(some.starts + 1, some.ends)
    run = np.searchsorted(there.ends, some.ends, "right")
    some_left = run < there.runs
    after = np.maximum(there.starts[run[some_left]], some.ends[some_left])
    return (within | Ordinals.joined(after, after + 1)) & there


def _checked(found: Plan, equal: Sets, changed: Sets) -> dict[str, Ordinals]:
    done = {}
    for name in {*equal, *changed}:
        one, other = equal.get(name, NONE), changed.get(name, NONE)
        if one & other:
            raise InvalidPlan(f"{name} {one & other} ended equal and changed; it is one of them", entity=name)
        done[name] = one | other
        strange = done[name] - found.makes.get(name, NONE)
        if strange:
            raise InvalidPlan(f"the plan does not make {name} {strange}", entity=name)
    return done


def _some(sets: Sets) -> dict[str, Ordinals]:
    return {name: some for name, some in sets.items() if some}
