"""What a value depends on: source columns, and how. The algebra that `expressions` and `columns` compute with.

A transformation is OpenLineage's (type, subtype, masking). Along a path: IDENTITY then TRANSFORMATION is TRANSFORMATION, anything then
AGGREGATION is AGGREGATION, masking once is masking for good. An indirect dependency stays indirect; used to decide about rows, everything becomes it.
"""

from collections.abc import Iterable
from typing import NamedTuple

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT = "JOIN", "FILTER", "GROUP_BY", "SORT"
WINDOW, CONDITIONAL = "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2}


class TooMany(Exception):
    """The plan has more dependencies than are worth having: say the tables and leave the columns."""


class Source(NamedTuple):
    """A column of a leaf of the plan. `leaf`: the key of the leaf; `field`: the column, with `.` into structs."""

    leaf: str
    field: str


class How(NamedTuple):
    """One transformation. `direct`: feeds the value; else it only decides about it."""

    direct: bool
    subtype: str
    masking: bool = False


SAME = How(True, IDENTITY)
Dependencies = dict[Source, frozenset[How]]


def of(source: Source) -> Dependencies:
    return {source: frozenset((SAME,))}


def merged(parts: Iterable[Dependencies]) -> Dependencies:
    """The union. Direct entries of one source are kept side by side only when they differ in kind; the stronger one covers the weaker."""
    result: Dependencies = {}
    for part in parts:
        for source, hows in part.items():
            known = result.get(source)
            result[source] = hows if known is None else known | hows
    return result


def strengthened(dependencies: Dependencies, subtype: str, masking: bool = False) -> Dependencies:
    """After a function of kind `subtype`: direct entries become at least that, indirect ones stay what they are."""
    return {
        source: frozenset(
            How(True, how.subtype if _STRENGTH[how.subtype] >= _STRENGTH[subtype] else subtype, how.masking or masking)
            if how.direct
            else how._replace(masking=how.masking or masking)
            for how in hows
        )
        for source, hows in dependencies.items()
    }


def deciding(dependencies: Dependencies, subtype: str, *, keep_indirect: bool = False) -> Dependencies:
    """Used to decide (a predicate, a key, an order): all of it becomes INDIRECT `subtype`.

    `keep_indirect`: what was indirect before keeps its own subtype, as inside one column's expression.
    """
    return {
        source: frozenset(how if keep_indirect and not how.direct else How(False, subtype, how.masking) for how in hows)
        for source, hows in dependencies.items()
    }


def settled(hows: frozenset[How]) -> list[How]:
    """What is worth reporting of one source: the strongest direct entry, and every indirect one; in a stable order."""
    direct = [how for how in hows if how.direct]
    best = [max(direct, key=lambda how: (_STRENGTH[how.subtype], how.masking))] if direct else []
    return best + sorted(how for how in hows if not how.direct)
