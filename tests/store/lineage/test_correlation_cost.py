"""The cost of the closure when the same contents are written again and again: about that of the new ones, counted and not timed."""

from typing import Any

import pytest
from tests.store.lineage.correlated import Told, expected, kept, told_in

from headwater.store.database import Connection, Database
from headwater.store.lineage import correlation


def step(number: int, read: int, wrote: int) -> list[Told]:
    """A run that reads a content and writes another, as an item of its own; runs and items are numbered from 1000."""
    run, item = 1000 + 2 * number, 1001 + 2 * number
    return [(read, run, 1, number, b""), (run, item, 2, number, b""), (item, wrote, 3, number, b"")]


def ring(contents: int, rounds: int) -> list[list[Told]]:
    """Contents that are made of each other in a ring; a batch is a round."""
    return [
        [edge for at in range(contents) for edge in step(turn * contents + at, at, (at + 1) % contents)]
        for turn in range(rounds)
    ]


def daily(contents: int, days: int) -> list[list[Told]]:
    """Two jobs, the one reads what the other wrote, make the same files every day; a batch is a day."""
    return [
        [
            edge
            for job in range(2)
            for at in range(contents)
            for edge in step((day * 2 + job) * contents + at, job * contents + at, (job + 1) * contents + at)
        ]
        for day in range(days)
    ]


async def known_pages(connection: Connection) -> tuple[int, int]:
    """Pages of the closure, as plans made now believe and as they are."""
    row = await (
        await connection.execute(
            "select relpages, pg_relation_size(oid) / 8192 from pg_class where relname = 'correlation_paths'"
        )
    ).fetchone()
    return int(row[0]), int(row[1])  # type: ignore[index]


async def blocks(connection: Connection) -> int:
    """Blocks of the closure and of its indexes that this transaction has asked for."""
    row = await (
        await connection.execute(
            "select sum(pg_stat_get_xact_blocks_fetched(oid)) from pg_class where relname like 'correlation_paths%'"
        )
    ).fetchone()
    return int(row[0])  # type: ignore[index]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    extend = correlation.extend

    async def counting(*given: Any, **named: Any) -> int:
        counted.append(await extend(*given, **named))
        return counted[-1]

    monkeypatch.setattr(correlation, "extend", counting)
    return counted


@pytest.mark.parametrize("batches", [ring(40, 4), daily(20, 10)], ids=["ring", "daily"])
def test_what_is_tried_and_read_is_about_what_is_new(
    database: Database, run: Any, tried: list[int], batches: list[list[Told]]
) -> None:
    """Also in one transaction whose plans were made while statistics said that there is nothing: as a rebuild is."""

    async def told() -> int:
        async with database.connection() as connection:
            await connection.execute("vacuum analyze correlation_paths")
        async with database.transaction() as connection:
            await connection.execute("set local plan_cache_mode = force_generic_plan")
            await connection.execute("discard plans")
            before = await blocks(connection)
            for batch in batches:
                await told_in(connection, batch)
            known, pages = await known_pages(connection)
            assert pages <= 5 * max(known, 4)
            return await blocks(connection) - before

    read = run(told())
    refused, pairs = expected([edge for batch in batches for edge in batch], correlation.BOUND)
    assert run(kept(database)) == (refused, pairs)
    assert sum(tried) <= 1.5 * len(pairs)
    assert read <= 12 * len(pairs)
