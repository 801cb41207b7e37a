"""A `custom` table as ordinals of two entities' calendars: what its rows name, what is wrong with them, and whether two tables say the same.

`needs` alone is in place of the rule for the downstream's instances that it lists; `affects` alone for the upstream's. Each by itself says which
pairs there are. Where both are written, all pairs in which either may differ from the rule are compared: those of the instances that they list.
"""

import functools
from typing import NamedTuple

from headwater.entities.time import keys, ranges
from headwater.entities.time.custom import AFFECTS, DIRECTIONS, NEEDS, Custom
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.relations import Listed, Relation
from headwater.entities.time.spans import Spans
from headwater.errors import HeadwaterError, InvalidDates, InvalidPeriod

MOST_COMPARED = 2_000
"""So many instances may be listed by either of two tables: they are looked at one by one."""


class _Side(NamedTuple):
    name: str
    instances: Instances


class _Row(NamedTuple):
    key: str
    mine: Ordinals
    theirs: Ordinals


class _Wrong(NamedTuple):
    direction: str
    key: str
    text: str


@functools.lru_cache(maxsize=256)
def relation(downstream: Instances, upstream: Instances, custom: Custom, base: Spans) -> Relation:
    """Return the rule with the table applied to it. InvalidDates with all that is wrong; its `rows` have the table, the
    row and the mistake of each."""
    wrong: list[_Wrong] = []
    down, up = _Side("downstream", downstream), _Side("upstream", upstream)
    needs, affects = _read(NEEDS, custom, down, up, wrong), _read(AFFECTS, custom, up, down, wrong)
    if not wrong:
        by_needs = Relation(base, Listed(_rectangles(needs)), rows=_listed(needs))
        transposed = ((start, end, low, high) for low, high, start, end in _rectangles(affects))
        by_affects = Relation(base, Listed(transposed), columns=_listed(affects))
        if needs and affects:
            wrong += _differing(by_needs, by_affects, needs, affects, downstream, upstream)
    if wrong:
        raise InvalidDates("; ".join(each.text for each in wrong), rows=[list(each) for each in wrong])
    return by_needs if needs else by_affects


def _read(direction: str, custom: Custom, mine: _Side, theirs: _Side, wrong: list[_Wrong]) -> list[_Row]:
    """The rows of one table, by ordinal."""
    found: list[_Row] = []
    for key, texts in custom.rows(direction):
        try:
            found.append(_Row(key, _named(mine, key), NONE.union(*(_named(theirs, text) for text in texts))))
        except HeadwaterError as said:
            wrong.append(_Wrong(direction, key, f"custom, {direction} of {key!r}: {said.message}"))
    found.sort(key=lambda row: row.mine.first)
    before: _Row | None = None
    for row in found:
        if before is not None and row.mine & before.mine:
            both = ranges.written(mine.instances, row.mine & before.mine)[0]
            text = f"custom, {direction} says twice what {both} {direction}: in {before.key!r} and in {row.key!r}"
            wrong.append(_Wrong(direction, row.key, text))
        if before is None or row.mine.end > before.mine.end:
            before = row
    return found


def _named(side: _Side, text: str) -> Ordinals:
    """Return the instances that a text names. InvalidPeriod if any is outside the entity's; only an end that is left
    open stops where the entity does."""
    instances = side.instances
    if text == "*":
        return instances.all
    every = ranges.read(Instances(instances.calendar), [text])
    found = every & instances.all
    low, dots, high = text.partition("..")
    if not found or (low and found.first > every.first) or ((high or not dots) and found.end < every.end):
        first, last = (keys.key(instances.calendar, each) for each in (instances.all.first, instances.all.end - 1))
        raise InvalidPeriod(f"{text!r} is not within what the {side.name} has, which is {first} to {last}", key=text)
    return found


def _listed(rows: list[_Row]) -> Ordinals:
    return NONE.union(*(row.mine for row in rows))


def _rectangles(rows: list[_Row]) -> list[tuple[int, int, int, int]]:
    return [(*mine, *theirs) for row in rows for mine in row.mine for theirs in row.theirs]


def _differing(
    by_needs: Relation,
    by_affects: Relation,
    needs: list[_Row],
    affects: list[_Row],
    downstream: Instances,
    upstream: Instances,
) -> list[_Wrong]:
    """The first pair of instances of which the tables say different things; nothing if they are one relation."""
    down, up = downstream.all, upstream.all
    for direction, rows in zip(DIRECTIONS, (needs, affects), strict=True):
        if (count := _listed(rows).count) > MOST_COMPARED:
            text = f"custom, {direction} lists {count} instances, and of two tables none may list more than {MOST_COMPARED}; leave one out"
            return [_Wrong(direction, rows[0].key, text)]
    for row in needs:
        for k in row.mine.members().tolist():
            one = Ordinals.between(k, k + 1)
            said, told = by_needs.of(one) & up, by_affects.of(one) & up
            if said != told:
                u = ((said - told) | (told - said)).first
                return [_disagree(NEEDS, row.key, k, u, downstream, upstream, by_needs=u in said)]
    for row in affects:
        for u in row.mine.members().tolist():
            one = Ordinals.between(u, u + 1)
            said, told = by_needs.touching(one, down), by_affects.touching(one, down)
            if said != told:
                k = ((said - told) | (told - said)).first
                return [_disagree(AFFECTS, row.key, k, u, downstream, upstream, by_needs=k in said)]
    return []


def _disagree(
    direction: str, row: str, k: int, u: int, downstream: Instances, upstream: Instances, *, by_needs: bool
) -> _Wrong:
    mine, theirs = keys.key(downstream.calendar, k), keys.key(upstream.calendar, u)
    one, other = ("needs", "does not need") if by_needs else ("does not need", "needs")
    return _Wrong(
        direction,
        row,
        f"custom, needs and affects disagree: {mine} {one} {theirs} by needs, and {other} it by affects and dates; each of the two says "
        "everything that differs from dates, or leave one out",
    )
