"""Group commit: which items share a write, and what each gets."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from headwater.errors import DatabaseRefused, Overloaded
from headwater.intake.events.batcher import Batcher


class Writes:
    """The batches that were written. A write takes a turn of the event loop for each of `turns`, and refuses a batch with "bad"."""

    def __init__(self, turns: int = 3) -> None:
        self.turns, self.batches, self.most, self.running = turns, list[list[str]](), 0, 0

    async def __call__(self, items: Sequence[str]) -> list[str]:
        self.batches.append([*items])
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self.running -= 1
        if "bad" in items:
            raise DatabaseRefused("bad")
        return [item.upper() for item in items]


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 10))


def test_a_lone_item_is_written_without_a_timer() -> None:
    writes = Writes(turns=0)

    async def work() -> bool:
        added = asyncio.create_task(Batcher(writes).add("a", 1))
        for _ in range(20):
            await asyncio.sleep(0)
        return added.done()

    assert run(work)
    assert writes.batches == [["a"]]


def test_items_that_arrive_in_the_same_turns_share_a_write() -> None:
    writes = Writes()

    async def work() -> list[str]:
        batcher = Batcher[str, str](writes)

        async def arrive(item: str, turns: int) -> str:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await batcher.add(item, 1)

        return await asyncio.gather(*(arrive(item, place) for place, item in enumerate("abcd")))

    assert run(work) == ["A", "B", "C", "D"]
    assert writes.batches == [["a", "b", "c", "d"]]


def test_one_batch_is_written_at_a_time_and_the_next_has_all_that_waits() -> None:
    writes = Writes(turns=20)

    async def work() -> None:
        batcher = Batcher[str, str](writes)
        first = asyncio.create_task(batcher.add("a", 1))
        while not writes.batches:
            await asyncio.sleep(0)
        others = [asyncio.create_task(batcher.add(item, 1)) for item in "bcd"]
        await asyncio.gather(first, *others)

    run(work)
    assert writes.batches == [["a"], ["b", "c", "d"]]
    assert writes.most == 1


def test_a_steady_stream_does_not_keep_a_batch_waiting() -> None:
    writes = Writes()

    async def work() -> None:
        batcher = Batcher[str, str](writes)
        waiting = []
        for _ in range(200):
            waiting.append(asyncio.create_task(batcher.add("a", 1)))
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)

    run(work)
    assert len(writes.batches[0]) < 30
    assert sum(map(len, writes.batches)) == 200


def test_a_refused_item_costs_its_neighbours_nothing() -> None:
    writes = Writes()

    async def work() -> list[Any]:
        batcher = Batcher[str, str](writes)
        return await asyncio.gather(*(batcher.add(item, 1) for item in ("a", "bad", "c")), return_exceptions=True)

    first, second, third = run(work)
    assert (first, third) == ("A", "C")
    assert isinstance(second, DatabaseRefused)


def test_a_batch_is_bounded_by_its_bytes_and_so_is_what_waits() -> None:
    writes = Writes()

    async def work() -> None:
        batcher = Batcher[str, str](writes, most_bytes=2)
        await asyncio.gather(*(batcher.add(item, 1) for item in "abc"))
        first = asyncio.create_task(batcher.add("d", 1))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await batcher.add("e", 100 * 1024 * 1024)
        await first

    run(work)
    assert writes.batches == [["a", "b"], ["c"], ["d"]]
