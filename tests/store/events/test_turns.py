"""A batch leaves turns to other requests while it is read and projected."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.events import dataset, encoded, run_event

from headwater.intake.events import accept
from headwater.intake.events.accept import Intake
from headwater.intake.events.project import Projector
from headwater.intake.events.turns import take_turns
from headwater.store.database import Database

BODIES = [encoded(run_event("COMPLETE", number, f"job{number}", [dataset("orders")], [])) for number in range(160)]


@asynccontextmanager
async def counted_turns() -> AsyncIterator[list[int]]:
    """Count the turns of another task."""
    turns = [0]

    async def take() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(take())
    yield turns
    task.cancel()


def test_values_come_in_order_with_turns_between(run: Any) -> None:
    async def read() -> tuple[list[int], int]:
        async with counted_turns() as turns:
            return [value async for value in take_turns(range(160))], turns[0]

    values, turns = run(read())
    assert values == list(range(160))
    assert turns == 9


def test_others_run_while_a_batch_is_read_and_projected(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_at: dict[str, list[int]] = {"read": [], "projected": []}
    turns = [0]
    read, project = accept.read, Projector.__call__

    def reading(body: bytes) -> Any:
        turns_at["read"].append(turns[0])
        return read(body)

    def projecting(*given: Any) -> Any:
        turns_at["projected"].append(turns[0])
        return project(*given)

    monkeypatch.setattr(accept, "read", reading)
    monkeypatch.setattr(Projector, "__call__", projecting)

    async def take() -> int:
        nonlocal turns
        async with counted_turns() as turns:
            return len((await Intake(database).accept_each(BODIES)).receipts)

    assert run(take()) == len(BODIES)
    for step, seen in turns_at.items():
        assert len(seen) == len(BODIES), step
        assert seen[-1] - seen[0] == 9, step
