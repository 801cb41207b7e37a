"""Answer with limits: what a caller may not see is in no answer, because the statements of its answers do not meet it (`store/limited.py`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headwater.model.limits import parse_limits
from headwater.store.limited import reader_limits


def limit_reading(limits: Sequence[str]) -> None:
    """Limit all that this task reads from now on. Raises InvalidQuestion."""
    reader_limits.set(parse_limits(limits))


@contextmanager
def without_limits() -> Iterator[None]:
    """Read without limits until `limit_reading` sets some, which end with this block."""
    before = reader_limits.set(None)
    try:
        yield
    finally:
        reader_limits.reset(before)
