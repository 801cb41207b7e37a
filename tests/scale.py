"""The scale of a test: a little of it in the suite, all of it in `make soak`."""

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

# Set by the stages of `make soak`.
FULL = os.environ.get("SUITE_SCALE") == "full"


def full(whole: int, short: int) -> int:
    """`whole` rounds, examples or rows in `make soak`, `short` in the suite; the test and what it asserts are the same."""
    return whole if FULL else short


def suite_takes(cases: Iterable[Any], taken: Collection[Any]) -> list[Any]:
    """Every case for `parametrize`: those that are taken run in the suite too, the others in `make soak` alone.

    Raises ValueError where a case is taken that is none: a renamed case would leave the suite silently.
    """
    every = list(cases)
    if missing := [case for case in taken if case not in every]:
        raise ValueError(f"no case is {missing}; name the cases that the suite takes as they are")
    return [pytest.param(case, marks=() if case in taken else pytest.mark.soak) for case in every]
