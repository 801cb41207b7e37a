"""Give other requests their turn in the middle of a batch."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")
# Events that are read or projected in one turn: some two milliseconds.
_TURN = 16


async def take_turns(values: Iterable[T]) -> AsyncIterator[T]:
    """Iterate over the values, and let other tasks run after every few of them.

    A batch is read and projected for tens of milliseconds. Meanwhile PostgreSQL would wait for the rest of another batch's statements, which
    fit no socket, and readers for their answers.
    """
    for index, value in enumerate(values):
        if index and index % _TURN == 0:
            await asyncio.sleep(0)
        yield value
