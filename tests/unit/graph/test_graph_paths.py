"""The shortest ways, against a search that looks at every way there is."""

import itertools
import uuid

from hypothesis import given
from hypothesis import strategies as st

from headwater.graph.paths import Place, Search, Step, joins

JOB = uuid.UUID(int=99)


def node(number: int) -> uuid.UUID:
    return uuid.UUID(int=number + 1)


def search(steps: list[Step], start: Place, end: Place, max_length: int = 20, max_places: int = 10_000) -> Search:
    made = Search([start], [end], max_length=max_length, max_places=max_places)
    while wanted := made.wants():
        direction, places = wanted
        made.feed(
            direction,
            [s for s in steps if any(joins(s.source if direction == "downstream" else s.target, p) for p in places)],
        )
    return made


def every_shortest(steps: list[Step], start: Place, end: Place) -> set[tuple[Step, ...]]:
    ways = [(step,) for step in steps if joins(start, step.source)]
    for _ in range(10):
        done = {way for way in ways if joins(way[-1].target, end)}
        if done:
            return done
        ways = [(*way, step) for way in ways for step in steps if joins(way[-1].target, step.source)]
        ways = ways[:20_000]
    return set()


numbers = st.integers(0, 5)
plain = st.lists(
    st.builds(
        lambda s, j, t: Step((node(s), ""), uuid.UUID(int=100 + j), (node(t), "")), numbers, st.integers(0, 1), numbers
    ),
    max_size=10,
    unique=True,
)
fields = st.sampled_from(["", "x", "y"])
with_columns = st.lists(
    st.builds(lambda s, f, t, g: Step((node(s), f), JOB, (node(t), g)), numbers, fields, numbers, fields),
    max_size=8,
    unique=True,
)


@given(plain, numbers, numbers)
def test_datasets_as_by_looking_at_all(steps: list[Step], start: int, end: int) -> None:
    if start == end:
        return
    one, other = (node(start), ""), (node(end), "")
    made = search(steps, one, other)
    ways, total = made.ways(1000)
    assert set(ways) == every_shortest(steps, one, other)
    assert total == len(ways)
    assert made.found == bool(ways)
    assert made.cut is None


@given(with_columns, fields, fields)
def test_every_path_is_a_path(steps: list[Step], field: str, other: str) -> None:
    start, end = (node(0), field), (node(5), other)
    made = search(steps, start, end)
    ways, total = made.ways(50)
    assert len(ways) == min(total, 50)
    for way in ways:
        assert set(way) <= set(steps)
        assert joins(start, way[0].source)
        assert joins(way[-1].target, end)
        assert all(joins(a.target, b.source) for a, b in itertools.pairwise(way))
        assert len(way) == made.length
    assert bool(ways) == bool(every_shortest(steps, start, end))
    if ways:
        assert len(ways[0]) == len(next(iter(every_shortest(steps, start, end))))


def line(length: int) -> list[Step]:
    return [Step((node(i), ""), JOB, (node(i + 1), "")) for i in range(length)]


def test_limits_are_told() -> None:
    start, end = (node(0), ""), (node(10), "")
    assert search(line(10), start, end).length == 10
    short = search(line(10), start, end, max_length=9)
    assert (short.found, short.cut) == (False, "max_length")
    small = search(line(10), start, end, max_places=6)
    assert (small.found, small.cut) == (False, "max_places")
    assert search(line(3), start, end).cut is None


def test_many_ways_are_counted_and_not_listed() -> None:
    """Twenty layers of four: 4 ** 20 ways."""
    steps = []
    for layer, i, j in itertools.product(range(1, 21), range(4), range(4)):
        steps.append(Step((node(layer * 10 + i), ""), JOB, (node(layer * 10 + 10 + j), "")))
    steps += [Step((node(0), ""), JOB, (node(10 + i), "")) for i in range(4)]
    steps += [Step((node(210 + i), ""), JOB, (node(999), "")) for i in range(4)]
    ways, total = search(steps, (node(0), ""), (node(999), ""), max_length=50).ways(7)
    assert total == 4**21
    assert len(ways) == len(set(ways)) == 7


def test_a_hub_is_entered_from_its_thin_side() -> None:
    """From the end there is one step to look at; the thousand from the start are never asked for twice."""
    hub = [Step((node(0), ""), JOB, (node(i), "")) for i in range(1, 1001)]
    tail = [Step((node(500), ""), JOB, (node(2000), "")), Step((node(2000), ""), JOB, (node(2001), ""))]
    made = Search([(node(0), "")], [(node(2001), "")], max_length=10)
    asked = []
    while wanted := made.wants():
        asked.append((wanted[0], len(wanted[1])))
        made.feed(wanted[0], hub + tail)
    assert asked == [("downstream", 1), ("upstream", 1), ("upstream", 1)]
    assert made.ways(10)[1] == 1
