"""Dependencies of a value: source columns and kinds. The algebra of `expressions` and `columns`.

A transformation is OpenLineage's (type, subtype, masking). Along a path: IDENTITY then TRANSFORMATION is TRANSFORMATION, anything then
AGGREGATION is AGGREGATION, masking stays. An indirect dependency stays indirect; dependencies that decide about rows become indirect.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
JOIN, FILTER, GROUP_BY, SORT = "JOIN", "FILTER", "GROUP_BY", "SORT"
WINDOW, CONDITIONAL = "WINDOW", "CONDITIONAL"
_STRENGTH = {IDENTITY: 0, TRANSFORMATION: 1, AGGREGATION: 2}


class TooMany(Exception):
    """The plan has too many dependencies: report its tables without columns."""


class Source(NamedTuple):
    """A column of a leaf of the plan. `leaf`: the key of the leaf; `field`: the column, with `.` into structs."""

    leaf: str
    field: str


class How(NamedTuple):
    """One transformation. `direct`: it feeds the value; else it only decides about it.

    `unseen`: it is by code whose inside is not seen, so that the column may feed the value, and need not.
    """

    direct: bool
    subtype: str
    masking: bool = False
    unseen: bool = False


SAME = How(True, IDENTITY)
Dependencies = dict[Source, frozenset[How]]


class Parts(NamedTuple):
    """The fields of a struct, an array's or a map's structs, each with what it depends on; `inner`: the fields of a field, or None."""

    depends: Dependencies
    inner: "Fields | None" = None


Fields = dict[str, Parts]


def of(source: Source) -> Dependencies:
    return {source: frozenset((SAME,))}


def merged(parts: Iterable[Dependencies]) -> Dependencies:
    """Return the union. Of a source's direct entries, the stronger one covers the weaker; those of different kinds both stay."""
    result: Dependencies = {}
    for part in parts:
        for source, hows in part.items():
            known = result.get(source)
            result[source] = hows if known is None else known | hows
    return result


def without(depends: Dependencies, leaves: Collection[str], columns: Collection[str]) -> Dependencies:
    """Return the dependencies without those on these columns of the leaves, and on fields inside them."""
    return {
        source: hows
        for source, hows in depends.items()
        if source.leaf not in leaves or source.field.partition(".")[0] not in columns
    }


def merged_fields(parts: Iterable[Fields | None]) -> Fields | None:
    """Return the fields that any of the values may have, field by field; None if those of one are unknown."""
    found = list(parts)
    if not found or any(one is None for one in found):
        return None
    names = dict.fromkeys(name for one in found if one for name in one)
    return {
        name: Parts(
            merged(one[name].depends for one in found if one and name in one),
            merged_fields(one[name].inner for one in found if one and name in one),
        )
        for name in names
    }


def changed_fields(fields: Fields | None, change: Callable[[Dependencies], Dependencies]) -> Fields | None:
    """Return the fields with what each depends on changed, at any depth."""
    if fields is None:
        return None
    return {name: Parts(change(part.depends), changed_fields(part.inner, change)) for name, part in fields.items()}


def strengthened(dependencies: Dependencies, subtype: str, masking: bool = False) -> Dependencies:
    """Return the dependencies after a function of kind `subtype`: direct entries become at least that, indirect ones stay."""
    return {
        source: frozenset(
            How(
                True,
                how.subtype if _STRENGTH[how.subtype] >= _STRENGTH[subtype] else subtype,
                how.masking or masking,
                how.unseen,
            )
            if how.direct
            else how._replace(masking=how.masking or masking)
            for how in hows
        )
        for source, hows in dependencies.items()
    }


def through(dependencies: Dependencies, hows: Iterable[How]) -> Dependencies:
    """Return the dependencies of what takes a value in each of these ways, as another engine found them."""
    return merged(
        (unseen(dependencies) if how.unseen else strengthened(dependencies, how.subtype, how.masking))
        if how.direct
        else deciding(dependencies, how.subtype)
        for how in hows
    )


def unseen(dependencies: Dependencies) -> Dependencies:
    """Return the dependencies of what code makes whose inside is not seen: any of these may feed it, and none need."""
    return {
        source: frozenset(how._replace(unseen=True) if how.direct else how for how in hows)
        for source, hows in strengthened(dependencies, TRANSFORMATION).items()
    }


def deciding(dependencies: Dependencies, subtype: str, *, keep_indirect: bool = False) -> Dependencies:
    """Return the dependencies of a predicate, key or order: all become INDIRECT `subtype`.

    `keep_indirect`: indirect entries keep their subtype, as inside one column's expression.
    """
    return {
        source: frozenset(how if keep_indirect and not how.direct else How(False, subtype, how.masking) for how in hows)
        for source, hows in dependencies.items()
    }


def settled(hows: frozenset[How]) -> list[How]:
    """Return the entries of a source to report: the strongest direct one and every indirect one, in a stable order."""
    direct = [how for how in hows if how.direct]
    best = [max(direct, key=lambda how: (not how.unseen, _STRENGTH[how.subtype], how.masking))] if direct else []
    return best + sorted(how for how in hows if not how.direct)
