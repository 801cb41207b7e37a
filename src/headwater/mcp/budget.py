"""Answers within a budget of characters. What does not fit is counted, never cut in silence. Pure."""

import json
from collections.abc import Callable
from typing import Any

SMALLEST, USUAL, LARGEST = 1_000, 12_000, 100_000
_LONGEST_TEXT = 400

Answer = dict[str, Any]


def encoded(answer: Answer) -> str:
    """Return the answer as it is sent."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def fitted(make: Callable[[int], Answer], most: int, budget: int) -> Answer:
    """Return `make(n)` for the largest n up to `most` that fits. `make` must state what it leaves out; an answer of n = 0 is sent in any case."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if len(encoded(make(middle))) <= budget:
            low = middle
        else:
            high = middle - 1
    return make(low)


def listed(
    fixed: Answer, lists: dict[str, list[Any]], budget: int, hint: str, beyond: dict[str, int] | None = None
) -> Answer:
    """Return an answer of fixed parts and lists, each cut to the same length if need be.

    `left_out` has how many of each list are missing, with those that were missing before (`beyond`, also of what is in no list); `how`: how to get
    them (`hint`).
    """

    def make(length: int) -> Answer:
        missing = dict(beyond or {})
        for name, rows in lists.items():
            missing[name] = missing.get(name, 0) + max(len(rows) - length, 0)
        return stated({**fixed, **{name: rows[:length] for name, rows in lists.items()}}, missing, hint)

    return fitted(make, max((len(rows) for rows in lists.values()), default=0), budget)


def stated(answer: Answer, missing: dict[str, int], hint: str) -> Answer:
    """Return the answer with `left_out` and `how`, if something is missing."""
    left_out = {name: count for name, count in missing.items() if count}
    return {**answer, "left_out": left_out, "how": hint} if left_out else answer


def plain(value: Any) -> Any:
    """Return a value without what is null or empty; long texts end with how many characters are missing."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if one is not None and one not in ([], {}, "")}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]}… (+{len(value) - _LONGEST_TEXT} characters)"
    return value
