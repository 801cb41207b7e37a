"""Waiters wake for reports about their entities, also after the log was replaced by another."""

import asyncio
from typing import Any

import pytest
from tests.store.status.test_status import DECLARED, Board, File, apply, says

from headwater.answer.status.declared import declared
from headwater.answer.status.news import News
from headwater.intake.status.reports import record
from headwater.store.database import Database


@pytest.fixture
def board(database: Database, run: Any) -> Board:
    return Board(database, run)


async def heard(database: Database, news: News, *entities: str) -> bool:
    """Return whether news of these entities come, after all reports until now, when a day of reads is produced meanwhile."""
    async with database.connection() as connection:
        ids = frozenset([(await declared(connection)).ids[name] for name in entities])
        row = await (await connection.execute("select coalesce(max(seq), 0) from status_reports")).fetchone()
    waiting = asyncio.ensure_future(news.after(database, row[0] if row else 0, ids, 3.0))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    await record(database, [says("reads", "produced", "2024-03-10", ref=str(row))])
    return await waiting


def test_only_awaited_news_arrive(board: Board) -> None:
    news = News()
    assert board.run(heard(board.database, news, "reads", "bill"))
    assert not board.run(heard(board.database, news, "bill"))
    assert board.run(heard(board.database, news, "reads"))


def test_a_waiter_for_a_distant_number_delays_no_other(board: Board) -> None:
    """An invented number, or one of another database."""
    news = News()
    for seq in (10**9, 5):
        assert not board.run(news.after(board.database, seq, frozenset([1]), 0.3))
    assert board.run(heard(board.database, news, "reads"))

    async def both() -> bool:
        far = asyncio.ensure_future(news.after(board.database, 10**9, frozenset([1]), 3.0))
        found = await heard(board.database, news, "reads")
        return found and not await far

    assert board.run(both())


def test_in_a_log_that_stands_where_another_stood(board: Board) -> None:
    """A backup was read back: it counts from where it was."""
    news = News()
    for day in range(1, 9):
        board.say(says("reads", "produced", f"2024-03-0{day}"))
    assert board.run(heard(board.database, news, "reads"))

    async def emptied() -> None:
        async with board.database.connection() as connection:
            await connection.execute(
                "truncate status_reports, status_changes, status_marks, instance_versions, entities, entity_applies"
            )

    board.run(emptied())
    board.run(apply(board.database, [File("entities.yaml", DECLARED)], "tests"))
    assert board.run(heard(board.database, news, "reads"))
    assert board.run(heard(board.database, news, "reads"))
