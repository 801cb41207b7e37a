"""Group commit: events that arrive while a transaction runs share the next one.

No request waits for a timer: if no transaction runs, it is written as soon as the requests that have arrived beside it are read. Under load the
transactions grow by themselves, and each reply still follows its own commit. A batch that the database refuses is written event by event; one
bad event does not fail its neighbours.

One transaction runs at a time: events are mostly about the same datasets, so a second one would wait for the first one's row locks, and two small
transactions cost more than one large one (decision 065).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from headwater.errors import DatabaseRefused, HeadwaterError, Overloaded

Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST = 256
_MOST_BYTES = 8 * 1024 * 1024
_WAITING_BYTES = 64 * 1024 * 1024
# Turns of the event loop in which requests that have arrived may still join a batch, while each turn brings one.
_TURNS = 8


class _Waiting(Generic[Item, Result]):
    __slots__ = ("future", "item", "size")

    def __init__(self, item: Item, size: int) -> None:
        self.item, self.size = item, size
        self.future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()


class Batcher(Generic[Item, Result]):
    """Collects items and writes them with `write`, which takes a batch and returns one result for each item, in order.

    One batch is written at a time. `most_bytes`: of a batch of several items.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        self._write = write
        self._most_bytes = most_bytes
        self._waiting: deque[_Waiting[Item, Result]] = deque()
        self._bytes = 0
        self._writing: asyncio.Task[None] | None = None

    async def add(self, item: Item, size: int) -> Result:
        """Write the item in the next batch and return its result. Raises what `write` raises; Overloaded if too many bytes wait."""
        if self._bytes + size > _WAITING_BYTES and self._waiting:
            raise Overloaded(f"{self._bytes} bytes of events are waiting to be written; try again shortly")
        waiting: _Waiting[Item, Result] = _Waiting(item, size)
        self._waiting.append(waiting)
        self._bytes += size
        if self._writing is None:
            self._writing = asyncio.create_task(self._drain())
        return await waiting.future

    async def _drain(self) -> None:
        try:
            await self._write_all()
        finally:
            # No await between finding the queue empty and this line: the next item to arrive starts a new task.
            self._writing = None

    async def _gather(self) -> None:
        """Let the requests that have arrived add their items: one turn reads a body, the next adds it."""
        for _ in range(_TURNS):
            before = len(self._waiting)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if len(self._waiting) == before:
                return

    async def _write_all(self) -> None:
        while self._waiting:
            await self._gather()
            batch: list[_Waiting[Item, Result]] = []
            size = 0
            while (
                self._waiting and len(batch) < _MOST and (not batch or size + self._waiting[0].size <= self._most_bytes)
            ):
                waiting = self._waiting.popleft()
                size += waiting.size
                batch.append(waiting)
            self._bytes -= size
            await self._settle([waiting for waiting in batch if not waiting.future.done()])

    async def _settle(self, batch: list[_Waiting[Item, Result]]) -> None:
        if not batch:
            return
        try:
            results = await self._write([waiting.item for waiting in batch])
        except DatabaseRefused as error:
            if len(batch) == 1:
                _fail(batch, error)
            else:
                for waiting in batch:
                    await self._settle([waiting])
        except HeadwaterError as error:
            _fail(batch, error)
        except BaseException as error:
            _fail(batch, error if isinstance(error, Exception) else RuntimeError("the server is stopping"))
            raise
        else:
            for waiting, result in zip(batch, results, strict=True):
                if not waiting.future.done():
                    waiting.future.set_result(result)


def _fail(batch: list[_Waiting[Item, Result]], error: Exception) -> None:
    for waiting in batch:
        if not waiting.future.done():
            waiting.future.set_exception(error)
