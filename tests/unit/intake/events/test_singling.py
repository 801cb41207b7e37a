"""Singling out what is refused: exactly those, and with work that grows as the number of things does."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.intake.events.bisection import isolate_failures


def tried(bad: set[int], count: int) -> tuple[list[int], list[int], list[int]]:
    """Return the accepted and the refused items, and the sizes of the attempts."""
    taken: list[int] = []
    refused: list[int] = []
    sizes: list[int] = []

    async def attempt(run: Sequence[int]) -> None:
        sizes.append(len(run))
        if bad & set(run):
            raise ValueError
        taken.extend(run)

    asyncio.run(isolate_failures(range(count), attempt, ValueError, lambda place, _: refused.append(place)))
    return taken, refused, sizes


@given(st.integers(0, 300).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, max(0, n - 1))))))
def test_exactly_the_bad_ones_are_refused_with_linear_work(given: tuple[int, set[int]]) -> None:
    count, bad = given
    bad = {place for place in bad if place < count}
    taken, refused, sizes = tried(bad, count)
    assert taken == [place for place in range(count) if place not in bad]
    assert refused == sorted(bad)
    assert sum(sizes) <= 6 * count


def test_a_hundred_thousand_bad_ones_are_each_met_once() -> None:
    _, refused, sizes = tried(set(range(100_000)), 100_000)
    assert len(refused) == 100_000
    assert len(sizes) == 100_016, "one attempt each, after sixteen halvings"
    assert sum(sizes) < 300_000


def test_one_bad_one_costs_few_attempts() -> None:
    _, refused, sizes = tried({777}, 1000)
    assert refused == [777]
    assert len(sizes) < 45


def test_what_is_no_refusal_is_raised() -> None:
    async def attempt(_: Sequence[int]) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(isolate_failures([1, 2], attempt, OSError, lambda *_: None, never=(ConnectionError,)))
    with pytest.raises(ConnectionError):
        asyncio.run(isolate_failures([1, 2], attempt, ValueError, lambda *_: None))
