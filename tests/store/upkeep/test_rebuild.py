"""While the tables are made again, readers see the old ones; what began before the end never sees half."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.events import run_event

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep import rebuild as rebuilding
from headwater.store.database import Database
from headwater.store.events import events


def test_readers_see_the_old_tables_until_the_new_ones_are_whole(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    half, go_on, pages = asyncio.Event(), asyncio.Event(), events.pages

    async def halting(*given: Any) -> AsyncIterator[Any]:
        async for page in pages(*given):
            yield page
            half.set()
            await go_on.wait()

    monkeypatch.setattr(events, "pages", halting)

    async def counts(connection: Any) -> list[int]:
        found = []
        for table in ("runs", "datasets", "edges", "jobs"):
            cursor = await connection.execute(f"select count(*) from {table}")
            found.append((await cursor.fetchone())[0])
        return found

    async def scene() -> None:
        told = [run_event("START", number, f"job{number}", [f"/in{number}"], ["/out"]) for number in range(5)]
        await Intake(database).accept_batch(json.dumps(told).encode())
        async with database.snapshot() as began_before:
            await began_before.execute("select count(*) from runs")
            task = asyncio.create_task(rebuilding.rebuild(database))
            try:
                async with asyncio.timeout(10):
                    await half.wait()
                    async with database.snapshot() as connection:
                        assert await counts(connection) == [5, 6, 10, 5]
            finally:
                go_on.set()
            assert await task == 5
            assert await counts(began_before) == [5, 6, 10, 5]
        async with database.snapshot() as connection:
            assert await counts(connection) == [5, 6, 10, 5]

    run(scene())
