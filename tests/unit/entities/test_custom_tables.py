"""Tables of what needs what, both ways, against pairs; and what is said of tables that are wrong."""

import random

import numpy as np
import pytest
from drawn_tables import Drawn, other, table

from headwater.entities import keys
from headwater.entities.dates import Dates
from headwater.entities.edges import Edge
from headwater.entities.instances import Instances
from headwater.entities.lags import NEVER, least
from headwater.entities.ordinals import Ordinals
from headwater.errors import InvalidDates

DAYS = Instances.of({"every": "day", "from": "2024-01-01", "until": "2025-01-01"})
WEEKS = Instances.of({"every": "week", "from": "2024-01-01"})


def one(ordinal: int) -> Ordinals:
    return Ordinals.between(ordinal, ordinal + 1)


def check(seed: int) -> int:
    """One table, alone and with the other direction written. How many answers were compared."""
    chance = random.Random(seed)
    drawn = table(chance)
    custom = drawn.said["custom"]
    assert isinstance(custom, dict)
    edge = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said))
    count = compared(chance, drawn, edge, drawn.pairs)
    if mirror := next(iter((rest := other(drawn)).values())):
        inside = {pair for pair in drawn.pairs if pair[1] in drawn.upstream.all}
        both = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said | {"custom": custom | rest}))
        mine = Edge(drawn.downstream, drawn.upstream, Dates.of(drawn.said | {"custom": rest}))
        for each in (both, mine):
            assert {
                (k, u)
                for k in drawn.downstream.all.members().tolist()
                for u in (each.need(one(k)) & each.upstream.all).members().tolist()
            } == inside, seed
        # A row that is not written, or another period in it, is found.
        assert isinstance(mirror, dict)
        left = chance.choice(sorted(mirror))
        for wrong in (
            {key: value for key, value in mirror.items() if key != left},
            mirror | {left: changed(chance, drawn, rest, mirror[left])},
        ):
            if wrong:
                said = drawn.said | {"custom": custom | {next(iter(rest)): wrong}}
                with pytest.raises(InvalidDates, match="needs and affects disagree"):
                    Edge(drawn.downstream, drawn.upstream, Dates.of(said))
        count += 4
    return count


def changed(chance: random.Random, drawn: Drawn, rest: dict[str, object], named: list[str]) -> list[str]:
    """Other instances than these."""
    if named:
        return named[1:]
    some = drawn.upstream if "needs" in rest else drawn.downstream
    return [keys.key(some.calendar, chance.choice(some.all.members().tolist()))]


def compared(chance: random.Random, drawn: Drawn, edge: Edge, pairs: set[tuple[int, int]]) -> int:
    downs = drawn.downstream.all.members().tolist()
    first, end = edge.upstream.all.first - 40, edge.upstream.all.end + 40
    window = Ordinals.between(first, end)
    needs = {k: Ordinals.of([u for at, u in pairs if at == k]) for k in downs}
    for k in downs:
        assert edge.need(one(k)) & window == needs[k], (k, drawn)
    for u in range(first, end):
        users = Ordinals.of([k for k, at in pairs if at == u])
        assert edge.affected(one(u)) == users, (u, drawn)
    for _ in range(8):
        some = Ordinals.of(chance.sample(downs, chance.randrange(1, min(len(downs), 9))))
        assert edge.need(some) & window == Ordinals().union(*(needs[k] for k in some.members().tolist()))
        changed = Ordinals.of([chance.randrange(first, end) for _ in range(chance.randrange(1, 9))])
        among = Ordinals.between(chance.choice(downs), chance.choice(downs) + 5)
        users = Ordinals.of([k for k in downs if needs[k] & changed])
        assert edge.affected(changed) == users
        assert edge.affected(changed, among) == users & among
        if users:
            wanted = [(needs[k] & changed).first for k in users.members().tolist()]
            assert edge.first_needed(users.members(), changed).tolist() == wanted
        last, has = edge.spans.last_of(np.array(downs), changed & edge.needed)
        wanted = [(needs[k] & changed).end - 1 if needs[k] & changed else None for k in downs]
        assert [each if there else None for each, there in zip(last.tolist(), has.tolist(), strict=True)] == wanted
    upstream = edge.upstream.calendar
    incomplete = Ordinals.of([k for k in downs if edge.need(one(k)) - edge.upstream.all])
    assert edge.incomplete() == incomplete
    assert edge.first_complete() == next((k for k in downs if k not in incomplete), None)
    starts = np.array([chance.choice(downs) for _ in range(12)])
    ends = starts + np.array([chance.choice([0, 1, 1, 1, 2, 5]) for _ in range(12)])
    for start, stop, low, high, whole in zip(starts, ends, *edge.hulls(starts, ends), strict=True):
        need = edge.need(Ordinals.between(start, stop))
        assert not whole or need == Ordinals.between(low, high), drawn
        assert (not need and low == high) or low <= need.first < need.end <= high, drawn
    until = {k: upstream.begins([edge.need(one(k)).end]) for k in downs if edge.need(one(k))}
    lag = min((int((edge.downstream.calendar.begins([k + 1]) - end)[0]) for k, end in until.items()), default=NEVER)
    # What is not needed because it is before the upstream's start is counted all the same.
    assert least(edge) <= lag if edge.clipped else least(edge) == lag, drawn
    return len(downs) + end - first + 40


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_agree_with_pairs(seed: int) -> None:
    check(seed)
