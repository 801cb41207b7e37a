"""Order the stages of a plan: which entities are made together, and which after which, from a graph and the instances to make.

Within a stage items ascend in time, which is right where nothing needs what a later run makes. What that says of two entities of one producer decides
whether they share its runs. Entities that need each other in turns are put in order of time by what is known of their lags (`lags.py`).
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from headwater.entities.needs import lags
from headwater.entities.needs.graph import Graph, Link
from headwater.entities.needs.kinds import Cumulative
from headwater.entities.plans.blocks import UNLIMITED, Block, Grouping, Stage
from headwater.entities.plans.runs import Producer, ProducerRuns, producer_runs
from headwater.entities.time.dates import Meaning
from headwater.entities.time.ordinals import Int, Ordinals
from headwater.errors import InvalidPlan


def stages(
    graph: Graph,
    rerun: Mapping[str, Ordinals],
    restore: Mapping[str, Ordinals],
    producers: Mapping[str, Producer],
    *,
    newest_first: bool = False,
) -> list[Stage]:
    """Order everything to make: no stage needs a later one, and within a stage the items ascend by number.

    InvalidPlan if there is no such order: `newest_first` of what needs what was before it, a run that would need itself.
    """
    grouping = Grouping(graph, newest_first)
    # Upstream first: a restored instance may have been made from another restored instance.
    for name in (name for component in graph.order for name in component if name in restore):
        instances = restore[name]
        own = graph.entities[name].instances
        producer = producers.get(name)
        # An instance that may have been made from an earlier one goes back after that one.
        chained = any(link.upstream == name for link in graph.upstream(name))
        block = Block("restore", producer, producer.max_periods if producer is not None and not chained else 1)
        block.add(name, ProducerRuns(own.calendar if own else None), instances)
        grouping.alone(block)
    knots: list[tuple[Stage, list[Link]]] = []
    for component in graph.order:
        names = [name for name in component if name in rerun]
        if not names:
            continue
        how = {name: producer_runs(graph.entities[name], producers.get(name)) for name in names}
        inner = [link for name in names for link in graph.upstream(name) if link.upstream in names]
        _refuse(inner, how, newest_first)
        runs = {_run(name, how[name], producers.get(name)) for name in names}
        together = len(runs) == 1 and (len(names) == 1 or all(_onward(graph, link) for link in inner))
        blocks = [_block(producers.get(name), alone=not together) for name in (names[:1] if together else names)]
        for place, name in enumerate(names):
            blocks[0 if together else place].add(name, how[name], rerun[name])
        if together:
            grouping.shared(blocks[0], runs.pop(), partial(_fits, graph, newest_first, names))
        else:
            knots.append((grouping.knot(names, blocks), inner))
    found = grouping.stages()
    for stage, inner in knots:
        _take_turns(graph, stage, inner)
    return found


def _block(producer: Producer | None, *, alone: bool) -> Block:
    """Return an empty block of a producer. `alone`: it takes turns with others, one run at a time."""
    if producer is None:
        return Block("manual", None, 1 if alone else UNLIMITED)
    return Block("rerun", producer, 1 if alone else producer.max_periods)


def _run(name: str, how: ProducerRuns, producer: Producer | None) -> tuple[object, ...]:
    """Return a key that is equal for entities that the same run may make."""
    if producer is None or how.calendar is None:
        return (name,)
    return producer.name, how.calendar


def _fits(graph: Graph, newest_first: bool, names: Sequence[str], known: Block) -> bool:
    """Return whether the runs of a block can make these entities: nothing that they need of the block is made by a later run."""
    links = [link for name in names for link in graph.upstream(name) if link.upstream in known.made]
    return all(_onward(graph, link) and (not newest_first or _at_once(link)) for link in links)


def _onward(graph: Graph, link: Link) -> bool:
    """Return whether all needed instances end no later than the one that needs them, so that the same run or an earlier one makes them."""
    if link.carried:
        return True
    if any(isinstance(graph.entities[name].kind, Cumulative) for name in (link.downstream, link.upstream)):
        return False
    return link.edge is not None and lags.least(link.edge) >= 0


def _at_once(link: Link) -> bool:
    """Return whether an instance needs nothing but what the same run makes."""
    edge = link.edge
    return edge is not None and edge.downstream.calendar == edge.upstream.calendar and edge.dates.meaning == Meaning()


def _refuse(inner: Sequence[Link], how: Mapping[str, ProducerRuns], newest_first: bool) -> None:
    if newest_first:
        for name, each in how.items():
            if each.chained:
                raise InvalidPlan(f"newest first: {name} adds each revision to the one before", entity=name)
        if inner:
            raise InvalidPlan(
                f"newest first: {inner[0].downstream} needs what was before it ({inner[0]}); leave out newest_first",
                entity=inner[0].downstream,
            )
    for link in inner:
        if how[link.downstream].chained or how[link.upstream].chained:
            raise InvalidPlan(
                f"{link.downstream} is revised over and over and needs itself ({link}): in which order is not known; "
                "let it be rebuilt, or repair it by hand",
                entity=link.downstream,
            )
        if link.edge is None and not link.carried:
            raise InvalidPlan(f"{link}: a static entity in a cycle has no time to order it by", entity=link.downstream)


def _take_turns(graph: Graph, stage: Stage, inner: Sequence[Link]) -> None:
    """Numbers the items of blocks that need each other, each of one entity and of one run: by the end of the last instance that an item makes, each
    entity later by so much that each comes after those that it needs.
    """
    names = [next(iter(block.made)) for block in stage.blocks]
    later = dict.fromkeys(names, 0)
    scale = len(names) + 1
    # Lags around any cycle are a second or more together, so this ends: nothing is put off more often than there are entities.
    changed = True
    while changed:
        changed = False
        for link in inner:
            if link.edge is not None and link.upstream != link.downstream:
                least = later[link.upstream] - min(lags.least(link.edge), lags.NEVER) * scale + 1
                if least > later[link.downstream]:
                    later[link.downstream], changed = least, True
    keys = [_ends(graph, name, block) * scale + later[name] for name, block in zip(names, stage.blocks, strict=True)]
    which = np.repeat(np.arange(len(keys)), [key.size for key in keys])
    places = np.concatenate([np.arange(key.size) for key in keys])
    order = np.argsort(np.concatenate(keys), kind="stable")
    stage.order = which[order], places[order]
    for nth, block in enumerate(stage.blocks):
        block.numbered = np.flatnonzero(stage.order[0] == nth) + stage.start
    if any(block.made[name].spans is not None for name, block in zip(names, stage.blocks, strict=True)):
        for link in inner:
            if link.edge is not None:
                _checked(link, *(stage.blocks[names.index(name)] for name in (link.downstream, link.upstream)))


def _ends(graph: Graph, name: str, block: Block) -> Int:
    """Return for each item the instant at which the last instance that it makes ends."""
    own = graph.entities[name].instances
    assert own is not None, name  # a knot has no static entity
    members = block.instances[name].members()
    last, runs = block.made[name].last(members), block.runs.members()
    # Revisions that add up stand by the first instance that they lead to: nothing here needs them, or they were refused.
    place = last.searchsorted(runs) if block.made[name].chained else last.searchsorted(runs, "right") - 1
    return own.calendar.begins(members[place] + 1)


def _checked(link: Link, downstream: Block, upstream: Block) -> None:
    """Check one link between blocks that take turns. InvalidPlan if an item needs one that is not before it.

    Runs that make several instances cannot always take turns.
    """
    assert link.edge is not None
    assert downstream.numbered is not None
    assert upstream.numbered is not None
    members = downstream.instances[link.downstream].members()
    # The last needed instance among those to make, if any.
    last, some = link.edge.spans.last_of(members, upstream.instances[link.upstream])
    places = [
        np.searchsorted(block.runs.members(), block.made[name].last(instances))
        for block, name, instances in (
            (downstream, link.downstream, members[some]),
            (upstream, link.upstream, last[some]),
        )
    ]
    mine, theirs = downstream.numbered[places[0]], upstream.numbered[places[1]]
    wrong = np.flatnonzero(theirs > mine if upstream is downstream else theirs >= mine)
    if wrong.size:
        raise InvalidPlan(
            f"{link}: a run that makes {link.downstream} {members[some][wrong[0]]} would have to be both before and after "
            f"one that makes {link.upstream} {last[some][wrong[0]]}; let each run make fewer periods",
            entity=link.downstream,
        )
