"""Versions cut where instances have others, beside each instance by itself."""

import random

import numpy as np

from headwater.entities.time.pieces import cut, ranges


def by_itself(rows: list[tuple[int, int, int, int, int]]) -> set[tuple[int, int, bool, int, int]]:
    """(instance, row, current, since, first) of rows of start, end, produced, seq, content."""
    found = set()
    for n in {n for start, end, *_ in rows for n in range(start, end)}:
        some = sorted((row[2], row[3], place) for place, row in enumerate(rows) if row[0] <= n < row[1])
        groups: list[list[int]] = []
        for _, _, place in some:
            content = rows[place][4]
            if groups and content >= 0 and rows[groups[-1][-1]][4] == content:
                groups[-1].append(place)
            else:
                groups.append([place])
        first = min(seq for _, seq, _ in some)
        for group in groups:
            since = min(rows[place][3] for place in group)
            only = len(groups) == 1
            found.add((n, group[-1], group is groups[-1], 0 if only else since, 0 if only else first))
    return found


def test_it_is_what_each_instance_says() -> None:
    chance = random.Random(3)
    several = 0
    for _ in range(300):
        rows = []
        for seq in range(1, chance.randrange(8)):
            start = chance.randrange(12)
            rows.append((start, start + chance.randrange(1, 6), chance.randrange(6), seq, chance.randrange(-1, 3)))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        pieces = cut(*columns)
        assert (np.diff(pieces.start) >= 0).all()
        told = [
            (n, row, current, since, first)
            for row, start, end, current, since, first in zip(*(column.tolist() for column in pieces), strict=True)
            for n in range(start, end)
        ]
        assert len(told) == len(set(told))
        assert set(told) == by_itself(rows)
        several += any(not current for _, _, current, _, _ in told)
    assert several > 100


def test_ranges() -> None:
    low, high = np.array([3, 9, 5], dtype=np.int64), np.array([5, 9, 6], dtype=np.int64)
    assert ranges(low, high).tolist() == [3, 4, 5]
    assert ranges(low[:0], high[:0]).tolist() == []
