"""Maps with pairs taken out and put in, against sets of pairs."""

import random

import numpy as np

from headwater.entities.time.ordinals import NONE, Int, Ordinals
from headwater.entities.time.relations import Listed, Relation
from headwater.entities.time.spans import Spans

SIZE = 40


def drawn(chance: random.Random) -> tuple[Relation, set[tuple[int, int]]]:
    """Rows and columns are taken out at once, which no table asks for."""
    low = np.cumsum([chance.choice([0, 0, 1, 2]) for _ in range(SIZE)])
    high = np.maximum.accumulate(low + np.array([chance.choice([0, 1, 1, 3]) for _ in range(SIZE)]))
    base = Spans(lambda k: (low[k], high[k], low[k] >= high[k]), 0, SIZE)
    rows, columns = (Ordinals.of([at for at in range(SIZE) if chance.random() < share]) for share in (0.2, 0.1))
    corners = [(chance.randrange(SIZE), chance.randrange(2 * SIZE)) for _ in range(chance.randrange(6))]
    listed = [(k, k + chance.choice([1, 1, 3]), u, u + chance.choice([1, 2, 5])) for k, u in corners]
    pairs = {(k, u) for k in range(SIZE) for u in range(low[k], high[k]) if k not in rows and u not in columns}
    pairs |= {(k, u) for start, end, first, last in listed for k in range(start, end) for u in range(first, last)}
    return Relation(base, Listed(listed), rows, columns), pairs


def some(chance: random.Random, size: int) -> Ordinals:
    return Ordinals.of([at for at in range(size) if chance.random() < chance.choice([0.05, 0.3])])


def check(seed: int) -> None:
    chance = random.Random(seed)
    relation, pairs = drawn(chance)
    for _ in range(6):
        mine, theirs = some(chance, SIZE + 4), some(chance, 2 * SIZE + 6)
        assert relation.of(mine) == Ordinals.of([u for k, u in pairs if k in mine])
        users = Ordinals.of([k for k, u in pairs if u in theirs])
        assert relation.touching(theirs) == users
        assert relation.touching(theirs, mine) == users & mine
        ks: Int = mine.members()
        for found, least in ((relation.first_of(ks, theirs), True), (relation.last_of(ks, theirs), False)):
            for k, u, has in zip(ks.tolist(), *(each.tolist() for each in found), strict=True):
                others = [other for at, other in pairs if at == k and other in theirs]
                assert has == bool(others)
                assert not others or u == (min(others) if least else max(others))
    starts = np.array([chance.randrange(SIZE) for _ in range(20)])
    ends = starts + np.array([chance.choice([0, 1, 1, 2, 9]) for _ in range(20)])
    for start, end, low, high, whole in zip(starts, ends, *relation.hulls(starts, ends), strict=True):
        found = relation.of(Ordinals.between(start, end))
        assert (low, high) == ((found.first, found.end) if found else (0, 0))
        assert whole == (found.runs < 2)


def test_random_relations_agree_with_pairs() -> None:
    for seed in range(60):
        check(seed)


def test_nothing_listed_is_the_map_itself() -> None:
    base = Spans(lambda k: (k, k + 2, k < 0), 0, 10)
    relation = Relation(base, Listed())
    assert relation.of(Ordinals.between(3, 5)) == Ordinals.between(3, 6)
    assert relation.touching(Ordinals.between(3, 4)) == Ordinals.between(2, 4)
    assert relation.odd == NONE
