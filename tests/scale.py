"""The scale of a test: a little of it in the suite, all of it in `make soak`."""

import os

# Set by the stages of `make soak`.
FULL = os.environ.get("SUITE_SCALE") == "full"


def full(whole: int, short: int) -> int:
    """`whole` rounds, examples or rows in `make soak`, `short` in the suite; the test and what it asserts are the same."""
    return whole if FULL else short
