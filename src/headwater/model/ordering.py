"""Find the items of a list that did not change their relative order when it was rearranged."""

from bisect import bisect_left
from collections.abc import Sequence


def longest_increasing(values: Sequence[int]) -> list[int]:
    """The longest increasing subsequence of distinct numbers: the items that did not move."""
    ends: list[int] = []
    at: list[int] = []
    before: dict[int, int | None] = {}
    for value in values:
        place = bisect_left(ends, value)
        before[value] = at[place - 1] if place else None
        if place == len(ends):
            ends.append(value)
            at.append(value)
        else:
            ends[place] = at[place] = value
    found: list[int] = []
    last: int | None = at[-1] if at else None
    while last is not None:
        found.append(last)
        last = before[last]
    return found[::-1]
