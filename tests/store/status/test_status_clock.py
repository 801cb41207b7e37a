"""Reports with a clock that is wrong, and of instances that have not begun: neither poisons what comes after it."""

import datetime as dt
import random
from typing import Any

import pytest
from tests.scale import full
from tests.store.status.test_status import Board, says

from headwater.store.database import Database

FAR = [dt.timedelta(minutes=6), dt.timedelta(hours=2), dt.timedelta(days=400), dt.timedelta(days=7900 * 365)]


@pytest.fixture
def board(database: Database, run: Any) -> Board:
    return Board(database, run)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@pytest.mark.parametrize("ahead", FAR, ids=str)
def test_a_clock_that_is_ahead_does_not_outlast_an_honest_run(board: Board, ahead: dt.timedelta) -> None:
    fast = says("reads", "produced", "2024-03-10", ref="fast", states=["estimated"], at=now() + ahead)
    (outcome,) = board.say(fast)
    assert outcome.corrected_at is not None
    assert abs(outcome.corrected_at - now()) < dt.timedelta(minutes=5)
    # Sent again it is the same report, although its time was not kept.
    assert board.say(fast)[0].duplicate
    (honest,) = board.say(says("reads", "produced", "2024-03-10", ref="honest", states=["completed"]))
    assert (honest.late, honest.corrected_at) == ([], None)
    assert board.marks("reads") == {"state completed": ["2024-03-10"]}


def test_a_clock_that_is_a_little_ahead_is_believed(board: Board) -> None:
    (outcome,) = board.say(says("reads", "produced", "2024-03-10", ref="a", at=now() + dt.timedelta(minutes=4)))
    assert outcome.corrected_at is None


@pytest.mark.parametrize("seed", range(full(8, 3)))
def test_after_any_history_of_fast_clocks_an_honest_run_is_current(board: Board, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(chance.randint(1, 12)):
        what, day = chance.choice(["started", "produced", "failed"]), f"2024-03-{chance.randint(10, 14)}"
        at = chance.choice([None, now() + chance.choice(FAR), now() - dt.timedelta(hours=chance.randint(0, 48))])
        board.say(says("reads", what, day, ref=f"run {chance.randint(0, 3) if what != 'produced' else number}", at=at))
    (outcome,) = board.say(says("reads", "produced", "2024-03-10..2024-03-14", ref="honest", states=["completed"]))
    assert outcome.late == []
    assert board.marks("reads")["state completed"] == ["2024-03-10..2024-03-14"]


@pytest.mark.parametrize(
    "texts", [["*"], ["2100-01-01"], ["2024-03-10..2100-01-01"], ["2024-03-10", "2099-12"]], ids=str
)
def test_instances_that_have_not_begun_are_refused_beside_good_ones(board: Board, texts: list[str]) -> None:
    good, bad = board.say(says("reads", "produced", "2024-03-10", ref="a"), says("reads", "produced", *texts, ref="b"))
    assert good.seq == 1
    assert bad.refused is not None
    assert bad.refused.code == "invalid_status"
    assert "has not begun" in bad.refused.message
    assert "--future" in bad.refused.message
    assert board.marks("reads") == {"state completed": ["2024-03-10"]}


def test_a_forecast_says_that_it_is_of_the_future(board: Board) -> None:
    tomorrow = (now() + dt.timedelta(days=1)).date().isoformat()
    (refused,) = board.say(says("reads", "produced", tomorrow, ref="a"))
    assert refused.seq is None
    (taken,) = board.say(says("reads", "produced", tomorrow, ref="a", future=True))
    assert taken.seq is not None
    today = now().date().isoformat()
    assert board.say(says("reads", "produced", today, ref="b"))[0].seq is not None
    # A planned instance may be in the future, and so may a withheld one.
    assert board.say(says("reads", "planned", tomorrow, ref="p"))[0].seq is not None


@pytest.mark.parametrize(
    "odd",
    [
        {"ref": "a\0b"}, {"reason": "\0"}, {"code": "\0"}, {"fingerprint": "\0"}, {"rows": 2**70}, {"bytes": -(2**70)},
        {"rows": -1}, {"storage": {"delta_version": "\0"}}, {"states": ["\0"]}, {"instances": ["\0"]}, {"ref": "x" * 5000},
    ],
    ids=str,
)  # fmt: skip
def test_one_bad_report_does_not_refuse_the_good_ones_beside_it(board: Board, odd: dict[str, Any]) -> None:
    bad = says("reads", "produced", *odd.pop("instances", ["2024-03-11"]), **odd)
    first, refused, last = board.say(
        says("reads", "produced", "2024-03-10", ref="a"), bad, says("reads", "produced", "2024-03-12", ref="c")
    )
    assert first.seq is not None
    assert last.seq is not None
    assert refused.seq is None
    assert refused.refused is not None
    assert board.marks("reads") == {"state completed": ["2024-03-10", "2024-03-12"]}
