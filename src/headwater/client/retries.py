"""Try again: the pause before the next try, and a call that is repeated after an error that may pass.

The only such loop. It runs in other people's processes (decision 003), so it needs the standard library alone.
"""

import os
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def pause(failures: int, first: float, longest: float) -> float:
    """Return the seconds before the next try, after so many failures before the last one.

    `first`, doubled at each failure up to `longest`, times a random factor of 0.5 to 1, so that a thousand processes do not return at once.
    """
    random = os.urandom(1)[0] / 255  # importing the `random` module takes 4 ms
    return min(longest, first * 2.0 ** min(failures, 20)) * (0.5 + random / 2)


class Backoff:
    """The pauses of one caller, which counts its failures here."""

    def __init__(self, first: float = 0.2, longest: float = 30.0) -> None:
        self._first, self._longest = first, longest
        self._failures = 0

    def seconds(self) -> float:
        self._failures += 1
        return pause(self._failures - 1, self._first, self._longest)

    def reset(self) -> None:
        self._failures = 0


def retry(
    call: Callable[[], T],
    *,
    passes: Callable[[Exception], bool],
    pauses: Iterable[float],
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Return what `call` returns, tried again after each of `pauses` while its error `passes`. Raises the last error."""
    left = iter(pauses)
    while True:
        try:
            return call()
        except Exception as error:
            wait = next(left, None) if passes(error) else None
            if wait is None:
                raise
        sleep(wait)
