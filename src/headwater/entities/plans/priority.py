"""The order in which the items of a plan go if several could: those that a more important tier waits for, then those
with the longest way to go.

In this order of all items none comes before what it needs, so no worker is ever stuck. It consists of sets of numbers,
a few for each stage, and costs about as much as the plan did. Numbers do not change. If no entity has a tier, the order
is that of the numbers.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.entities.needs.graph import Graph
from headwater.entities.plans.blocks import Block, Stage
from headwater.entities.time.dates import Meaning
from headwater.entities.time.ordinals import NONE, Ordinals

Tier = tuple[int, int, str]
"""Sorts as tiers do: the lowest is the most important."""
Makers = Callable[[Mapping[str, Ordinals]], Iterable[tuple[Block, Ordinals]]]

_WORDS = {"platinum": 0, "gold": 1, "silver": 2, "bronze": 3, "critical": 1, "high": 2, "medium": 3, "low": 4}
_SETS = 8
"""The number of sets whose first items are looked at, where not all are."""
_NUMBER = re.compile("[0-9]{1,9}")


def tier(text: str) -> Tier:
    """The place of a tier: the first number in it (`1`, `tier-1`, `P0`), or that of a word that is known (gold is 1, as critical is); other texts
    come after these, by the alphabet; no text last.
    """
    if not text:
        return 2, 0, ""
    number = _NUMBER.search(text)
    if number is not None:
        return 0, int(number[0]), ""
    word = text.casefold()
    return (0, _WORDS[word], "") if word in _WORDS else (1, 0, word)


def turns(
    graph: Graph, stages: Sequence[Stage], makers: Makers, tiers: Mapping[str, str], seconds: Mapping[str, float]
) -> list[Ordinals]:
    """The numbers of all items, as sets: those of the first set go first, and of each set the lowest.

    makers: the blocks that make what some instances need, with the numbers of the items. tiers: by entity. seconds: of one period, by producer.

    An item's tier is the best of what it makes and of what needs it. Within a tier, the items with the most seconds still to follow go first,
    on the longest path over stages with items of that tier that wait for them. If an entity needs its own past, an item needs all items before it.
    """
    if not any(tiers.get(name) for stage in stages for block in stage.blocks for name in block.made):
        return [Ordinals.between(stage.start, stage.start + stage.count) for stage in stages]
    starts = [stage.start for stage in stages]
    wanted = [_own(stage, tiers) for stage in stages]
    after: dict[tuple[int, Tier], float] = {}
    found: list[tuple[Tier, float, int, Ordinals]] = []
    for at in range(len(stages) - 1, -1, -1):
        stage = stages[at]
        in_turn = len(stage.blocks) > 1 or is_chained(graph, stage.blocks[0])
        left = Ordinals.between(stage.start, stage.start + stage.count)
        for which in sorted(wanted[at]):
            numbers = wanted[at][which]
            some = left & (Ordinals.between(stage.start, numbers.end) if in_turn else numbers)
            if not some:
                continue
            left -= some
            rest = after.get((at, which), 0.0) + _takes(stage, seconds, in_turn=in_turn)
            found.append((which, -rest, stage.start, some))
            for block in stage.blocks:
                for maker, needed in makers(block.makes(block.runs_of(some))):
                    up = bisect_right(starts, maker.start) - 1
                    # Restored items have the first numbers, so of the items that wait for it this has only restored ones.
                    if needed and up < at:
                        wanted[up][which] = wanted[up].get(which, NONE) | needed
                        after[up, which] = max(after.get((up, which), 0.0), rest)
    return [some for *_, some in sorted(found, key=lambda each: each[:3])]


def first(order: Sequence[Ordinals], left: Ordinals, most: int, sets: int = _SETS) -> list[int]:
    """Return at most so many numbers of what is left, in the order of `turns`.

    Where there are more, only the first of each set, of so many sets or more:
    those of one set may all wait for the first of them, or for the same slot, while others could run.
    """
    rest = [some for turn in order if (some := turn & left)]
    each = max(most // min(len(rest), sets), 1) if sum(some.count for some in rest) > most else most
    found: list[int] = []
    for some in rest:
        found += some.members()[: min(each, most - len(found))].tolist()
    return found


def _own(stage: Stage, tiers: Mapping[str, str]) -> dict[Tier, Ordinals]:
    """The numbers of a stage by the tier of what they make."""
    found: dict[Tier, Ordinals] = {}
    for block in stage.blocks:
        for name, some in block.instances.items():
            which = tier(tiers.get(name, ""))
            found[which] = found.get(which, NONE) | block.numbers(name, some)
    return found


def _takes(stage: Stage, seconds: Mapping[str, float], *, in_turn: bool) -> float:
    """Return the seconds from the start of an item to its end; for items that go one by one, to the end of the last."""
    found = 0.0
    for block in stage.blocks:
        if block.action == "rerun" and block.producer is not None:
            periods = block.runs.count if in_turn else block.longest
            found += seconds.get(block.producer.name, 0.0) * periods
    return found


def is_chained(graph: Graph, block: Block) -> bool:
    """Return whether an item may need the one before it."""
    links = [link for name in block.made for link in graph.upstream(name) if link.upstream in block.made]
    chained = any(made.chained for made in block.made.values())
    return chained or any(link.edge is None or link.edge.dates.meaning != Meaning() for link in links)
