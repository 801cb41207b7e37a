"""Random `custom` tables beside a rule, as they are written, and the relation that they say, pair by pair."""

import random
from typing import NamedTuple

from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Dependency, Entity
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

Pairs = set[tuple[int, int]]

EVERY = ["day", "day", "12h", "3 days", "week", "month"]
ZONES = ["UTC", "Europe/Paris", "Pacific/Apia", "Australia/Lord_Howe"]
RULES = [
    "same",
    "nothing",
    "previous 2",
    "next",
    "last 3 weeks",
    "all_month",
    "everything",
    "-5 days",
    "same + 2 weeks",
]


class Row(NamedTuple):
    """Instances of one side, a run, and runs of those of the other side that each of them has."""

    keyed: Ordinals
    named: list[Ordinals]


class Drawn(NamedTuple):
    """`rule`: the pairs without a table. `pairs`: those with it, of instances that either entity may have."""

    downstream: Instances
    upstream: Instances
    said: dict[str, object]
    rule: Pairs
    pairs: Pairs


def instances(chance: random.Random) -> Instances:
    """Some forty days, around the date that Apia skipped and, half a year earlier, a change of clocks."""
    calendar = Calendar.every(chance.choice(EVERY), chance.choice(ZONES))
    first = calendar.at(chance.choice([1_324_900_000, 1_301_100_000]) - chance.randrange(20) * 86_400)
    per_day = {"12h": 2.0, "3d": 0.34, "week": 0.15, "month": 0.04}.get(calendar.every_text, 1.0)
    return Instances(calendar, first, first + max(2, round(chance.randrange(25, 45) * per_day)))


def table(chance: random.Random) -> Drawn:
    """A table of one direction; `other` makes that of the other."""
    down, up = instances(chance), instances(chance)
    text = chance.choice(RULES)
    dates: dict[str, object] = {"dates": text} | ({"before_start": "ignore"} if chance.random() < 0.2 else {})
    ups = Ordinals.between(*_wide(up))
    rule: Pairs = set()
    if text != "nothing":
        edge = Edge(down, up, Dates.of(dates))
        for k in down.all.members().tolist():
            rule |= {(k, u) for u in (edge.need(Ordinals.between(k, k + 1)) & ups).members().tolist()}
    direction, rows = drawn_rows(chance, down, up)
    pairs = set(rule)
    for row in rows:
        for at in row.keyed.members().tolist():
            pairs = {pair for pair in pairs if pair[direction == "affects"] != at}
            others = [other for run in row.named for other in run.members().tolist()]
            pairs |= {(at, other) if direction == "needs" else (other, at) for other in others}
    mine, theirs = (down, up) if direction == "needs" else (up, down)
    return Drawn(down, up, dates | {"custom": {direction: _written(mine, theirs, rows)}}, rule, pairs)


def drawn_rows(
    chance: random.Random, down: Instances, up: Instances, *, earlier: bool = False
) -> tuple[str, list[Row]]:
    """A table and its rows. `earlier`: nothing needs what does not end before it begins."""
    direction = chance.choice(["needs", "affects"])
    mine, theirs = (down, up) if direction == "needs" else (up, down)
    rows = []
    free = mine.all
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        if not free:
            break
        start = chance.choice(free.members().tolist())
        keyed = Ordinals.between(start, start + chance.choice([1, 1, 1, 2, 4])) & free
        keyed = Ordinals([next(iter(keyed))])
        free -= keyed
        may = theirs.all
        if earlier and direction == "needs":
            may &= up.calendar.within(-10_000_000_000, int(down.calendar.begins([keyed.first])[0]))
        elif earlier:
            may &= down.calendar.within(int(up.calendar.begins([keyed.end])[0]), 10_000_000_000)
        named = [_run(chance, may) for _ in range(chance.choice([0, 1, 1, 1, 2, 3])) if may]
        rows.append(Row(keyed, named))
    return direction, rows


def tabled(chance: random.Random, entities: list[Entity], share: float) -> list[Entity]:
    """The entities, some of their dependencies with a table. Links that may be part of a cycle need what is earlier."""
    cut = {entity.name: entity.instances for entity in entities}
    place = {entity.name: nth for nth, entity in enumerate(entities)}

    def changed(entity: Entity, needed: Dependency) -> Dependency:
        down, up, dates = entity.instances, cut[needed.upstream], needed.dates
        if down is None or up is None or dates is None or dates.meaning.newest or chance.random() >= share:
            return needed
        earlier = place[needed.upstream] >= place[entity.name]
        direction, rows = drawn_rows(chance, down, up, earlier=earlier)
        mine, theirs = (down, up) if direction == "needs" else (up, down)
        said: dict[str, object] = {"dates": dates.text, "custom": {direction: _written(mine, theirs, rows)}}
        if dates.ignore_before_start:
            said["before_start"] = "ignore"
        return needed._replace(dates=Dates.of(said))

    return [
        entity._replace(
            states={state: tuple(changed(entity, each) for each in needs) for state, needs in entity.states.items()}
        )
        for entity in entities
    ]


def other(drawn: Drawn) -> dict[str, object]:
    """The other direction's table, of all the instances of that side of which anything differs from the rule."""
    custom = drawn.said["custom"]
    assert isinstance(custom, dict)
    (said,) = custom
    direction, side = ("affects", 1) if said == "needs" else ("needs", 0)
    mine, theirs = (drawn.upstream, drawn.downstream) if side else (drawn.downstream, drawn.upstream)
    rule, pairs = ({pair for pair in some if pair[1] in drawn.upstream.all} for some in (drawn.rule, drawn.pairs))
    rows = {}
    for at in sorted({pair[side] for pair in rule ^ pairs}):
        others = Ordinals.of([pair[1 - side] for pair in pairs if pair[side] == at])
        rows[_text(mine, Ordinals.of([at]))] = [_text(theirs, Ordinals([run])) for run in others]
    return {direction: rows}


def _wide(some: Instances) -> tuple[int, int]:
    """Return the bounds of the instances and some beyond: the rule may need them."""
    assert some.first is not None
    assert some.end is not None
    return some.first - 40, some.end + 40


def _written(mine: Instances, theirs: Instances, rows: list[Row]) -> dict[str, list[str]]:
    return {_text(mine, row.keyed): [_text(theirs, run) for run in row.named] for row in rows}


def _run(chance: random.Random, some: Ordinals) -> Ordinals:
    start = chance.choice(some.members().tolist())
    return Ordinals.between(start, start + chance.choice([1, 1, 2, 5])) & some


def _text(some: Instances, run: Ordinals) -> str:
    first, last = keys.key(some.calendar, run.first), keys.key(some.calendar, run.end - 1)
    return first if first == last else f"{first}..{last}"
