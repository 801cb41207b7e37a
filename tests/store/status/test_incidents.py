"""Verdicts: what becomes wrong, what is right again by what, over a real log."""

import uuid
from typing import Any

import pytest
from tests.store.status.test_status import Board, at, says

from headwater.errors import InvalidStatus, NotFound
from headwater.intake.status import incidents
from headwater.intake.status.incidents import Wrong
from headwater.intake.status.request import ReadInstances
from headwater.store.database import Database

MARCH = "2024-03-01..2024-03-31"


@pytest.fixture
def board(database: Database, run: Any) -> Board:
    board = Board(database, run)
    board.say(says("reads", "produced", MARCH, at=at(0), code="v1"))
    for week in ("2024-W09", "2024-W10", "2024-W11", "2024-W12"):
        board.say(says("report", "produced", week, at=at(1)))
    board.say(says("bill", "produced", "2024-03", at=at(1)))
    return board


def opened(board: Board, *instances: str, entity: str = "reads", **more: Any) -> incidents.Opened:
    return board.run(incidents.open_(board.database, [Wrong(entity, list(instances))], "spoilt", "ada", **more))


def test_what_used_it_is_wrong_too(board: Board) -> None:
    found = opened(board, "2024-03-10..2024-03-11")
    assert [(hit.entity, hit.instances, hit.depth, hit.basis) for hit in found.hits] == [
        ("reads", ["2024-03-10..2024-03-11"], 0, "exact"),
        ("report", ["2024-W10..2024-W11"], 1, "declared"),
        ("bill", ["2024-03"], 1, "declared"),
    ]
    assert found.count == 5
    ref = str(found.id)
    assert board.marks("reads")[f"tainted {ref}"] == ["2024-03-10..2024-03-11"]
    assert board.marks("report")[f"inherited {ref}"] == ["2024-W10..2024-W11"]
    assert board.marks("bill")[f"inherited {ref}"] == ["2024-03"]


def test_trying_it_out_changes_nothing(board: Board) -> None:
    found = opened(board, "2024-03-10", dry_run=True)
    assert (found.id, found.count) == (None, 3)
    assert list(board.marks("report")) == ["state completed"]


def test_a_run_of_the_same_code_does_not_launder(board: Board) -> None:
    ref = str(opened(board, "2024-03-10").id)
    board.say(says("reads", "produced", "2024-03-10", at=at(5), code="v1"))
    assert board.marks("reads")[f"tainted {ref}"] == ["2024-03-10"]
    board.say(says("reads", "produced", "2024-03-10", at=at(6), code="v2"))
    assert f"tainted {ref}" not in board.marks("reads")
    assert board.marks("reads")[f"repaired {ref}"] == ["2024-03-10"]
    # The reader of the wrong one is wrong until it is made again.
    assert board.marks("report")[f"inherited {ref}"] == ["2024-W10"]
    board.say(says("report", "produced", "2024-W10", at=at(7)))
    assert f"inherited {ref}" not in board.marks("report")
    assert board.marks("bill")[f"inherited {ref}"] == ["2024-03"]


def test_what_is_made_after_the_fix_is_right(board: Board) -> None:
    found = opened(board, "2024-03-10")
    board.run(incidents.fix(board.database, found.id, "ada", at=at(4)))
    board.say(says("reads", "started", "2024-03-10", ref="early", at=at(3)))
    board.say(says("reads", "produced", "2024-03-10", ref="early", at=at(5)))
    assert f"tainted {found.id}" in board.marks("reads")  # it began before
    board.say(says("reads", "produced", "2024-03-10", at=at(6)))
    assert f"tainted {found.id}" not in board.marks("reads")


def test_a_report_confirms_the_new_version(board: Board) -> None:
    found = opened(board, "2024-03-10")
    board.say(says("reads", "produced", "2024-03-10", at=at(5), code="v1", right=True))
    assert f"tainted {found.id}" not in board.marks("reads")


def test_a_false_alarm(board: Board) -> None:
    first, second = opened(board, "2024-03-10"), opened(board, "2024-03-20")
    settled = board.run(incidents.retract(board.database, first.id, "bob", note="the check was wrong"))
    assert settled.state == "retracted"
    assert {each.entity: each.instances for each in settled.changed} == {
        "reads": ["2024-03-10"],
        "report": ["2024-W10"],
        "bill": ["2024-03"],
    }
    assert board.marks("report") == {
        "state completed": ["2024-W09..2024-W12"],
        f"inherited {second.id}": ["2024-W12"],
    }
    with pytest.raises(InvalidStatus, match="was retracted"):
        board.run(incidents.fix(board.database, first.id, "ada"))


def test_the_same_content_was_never_wrong(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-10", at=at(2), code="v1", fingerprint="xxh3:1"))
    found = opened(board, "2024-03-10")
    board.say(says("reads", "produced", "2024-03-10", at=at(5), code="v2", fingerprint="xxh3:1"))
    for entity in ("reads", "report", "bill"):
        assert not [mark for mark in board.marks(entity) if str(found.id) in mark], entity
    assert found.count == 3


def test_readers_of_undeclared_inputs_stay_wrong_when_others_turn_out_right(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-10", at=at(2), code="v1", fingerprint="xxh3:1"))
    board.say(says("report", "produced", "2024-W02", at=at(2), reads=[ReadInstances("bill", ["2024-03"])]))
    wrong = [Wrong("bill", ["2024-03"]), Wrong("reads", ["2024-03-10"])]
    found = board.run(incidents.open_(board.database, wrong, "spoilt", "ada"))
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W02", "2024-W10"]
    board.say(says("reads", "produced", "2024-03-10", at=at(5), code="v2", fingerprint="xxh3:1"))
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W02"]


def test_what_is_far_from_what_turned_out_right_stays_wrong(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-10", at=at(2), code="v1", fingerprint="xxh3:1"))
    found = opened(board, "2024-03-10", "2024-03-20")
    board.say(says("reads", "produced", "2024-03-10", at=at(5), code="v2", fingerprint="xxh3:1"))
    assert board.marks("reads")[f"tainted {found.id}"] == ["2024-03-20"]
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W12"]


def test_of_many_stretches_the_first_are_told(board: Board) -> None:
    board.say(says("reads", "produced", "2024", at=at(0), code="v1"))
    every_other = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 28, 2)]
    (hit, *_) = opened(board, *every_other).hits
    assert (len(hit.instances), hit.more, hit.count) == (100, 68, 168)
    assert hit.instances[:2] == every_other[:2]


def test_readers_of_confirmed_inputs_alone_are_right(board: Board) -> None:
    board.say(says("report", "produced", "2024-W13", at=at(2), reads=[ReadInstances("reads", ["2024-03-26"])]))
    found = opened(board, "2024-03-26..2024-03-27")
    board.run(incidents.confirm(board.database, found.id, [Wrong("reads", ["2024-03-26"])], "ada"))
    assert f"inherited {found.id}" not in board.marks("report")
    assert board.marks("bill")[f"inherited {found.id}"] == ["2024-03"]


def test_what_was_read_decides(board: Board) -> None:
    board.say(
        says("report", "produced", "2024-W10", at=at(2), reads=[ReadInstances("reads", ["2024-03-04..2024-03-09"])]),
        says("report", "produced", "2024-W11", at=at(2), reads=[ReadInstances("reads", ["2024-03-11..2024-03-17"])]),
    )
    found = opened(board, "2024-03-10..2024-03-11")
    report = next(hit for hit in found.hits if hit.entity == "report")
    assert (report.instances, report.basis) == (["2024-W11"], "exact")
    # The first version of W10 had no record, and may have been read.
    assert board.marks("report")[f"repaired {found.id}"] == ["2024-W10..2024-W11"]
    board.say(says("report", "produced", "2024-W12", at=at(3), reads=[ReadInstances("reads", ["2024-03-11"])]))
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W11..2024-W12"]


def test_readers_of_undeclared_inputs_are_wrong_too(board: Board) -> None:
    """A report that read the bill, which read none of what is declared; and who read that report, and so on."""
    board.say(says("report", "produced", "2024-W02..2024-W03", at=at(2), reads=[ReadInstances("bill", ["2024-03"])]))
    board.say(says("reads", "produced", "2024-01-01", at=at(3), reads=[ReadInstances("report", ["2024-W02"])]))
    board.say(says("report", "produced", "2024-W01", at=at(4)))
    found = opened(board, "2024-03", entity="bill")
    assert [(hit.entity, hit.instances, hit.basis, hit.because) for hit in found.hits] == [
        ("reads", ["2024-01-01"], "exact", "reads ← report (recorded)"),
        ("report", ["2024-W01..2024-W03"], "declared", "report ← bill (recorded)"),
        ("bill", ["2024-03"], "exact", ""),
    ]
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W01..2024-W03"]
    # The day is confirmed as right, and so are readers of that day alone.
    settled = board.run(incidents.confirm(board.database, found.id, [Wrong("reads", ["2024-01-01"])], "ada"))
    assert {each.entity: each.instances for each in settled.changed} == {
        "reads": ["2024-01-01"],
        "report": ["2024-W01"],
    }
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W02..2024-W03"]


def test_who_was_made_together_with_it_is_found_wherever_it_is(board: Board) -> None:
    read = [ReadInstances("reads", ["2024-02-19..2024-03-10", "2024-03-31"])]
    board.say(says("report", "produced", "2024-W08..2024-W10", at=at(2), reads=read))
    # The report does not say for which of the three weeks the 31st was read.
    found = opened(board, "2024-03-08", "2024-03-31")
    assert board.marks("report")[f"inherited {found.id}"] == ["2024-W08..2024-W10"]


def test_what_was_read_was_the_version_of_that_time(board: Board) -> None:
    seq = board.say(says("bill", "started", "2024-03", ref="b", at=at(2)))[0].seq
    board.say(says("reads", "produced", "2024-03-10", at=at(3), code="v2"))
    board.say(says("bill", "produced", "2024-03", ref="b", at=at(4), seq=seq, reads=[ReadInstances("reads", [MARCH])]))
    assert "bill" not in [hit.entity for hit in opened(board, "2024-03-10", dry_run=True).hits]
    board.say(says("bill", "produced", "2024-03", ref="c", at=at(5), reads=[ReadInstances("reads", [MARCH])]))
    assert "bill" in [hit.entity for hit in opened(board, "2024-03-10", dry_run=True).hits]


def test_what_would_be_too_many_marks_is_refused(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    days = ("2024-03-10", "2024-03-12")
    tried = opened(board, *days, dry_run=True)
    assert tried.stretches == 4  # two days, two weeks in a row, a month
    monkeypatch.setattr(incidents, "MOST_STRETCHES", 3)
    before = board.marks("reads")
    with pytest.raises(InvalidStatus, match="would mark 4 stretches of instances; one incident marks at most 3"):
        opened(board, *days)
    assert board.marks("reads") == before
    assert opened(board, *days, dry_run=True) == tried
    monkeypatch.setattr(incidents, "MOST_STRETCHES", 4)
    assert opened(board, *days).stretches == 4


def test_statements_do_not_grow_with_what_is_reached(board: Board, statements: Any) -> None:
    with statements() as few:
        first = opened(board, "2024-03-10")
    with statements() as many:
        second = opened(board, *(f"2024-03-{day:02}" for day in range(1, 31, 2)))
    assert (len(many), second.count > 4 * first.count) == (len(few), True)
    with statements() as few:
        board.run(incidents.retract(board.database, first.id, "ada"))
    with statements() as many:
        board.run(incidents.retract(board.database, second.id, "ada"))
    assert len(many) == len(few) < 15


def test_a_run_that_read_before_it_was_repaired_is_wrong(board: Board) -> None:
    found = opened(board, "2024-03-10")
    board.say(says("report", "produced", "2024-W11", at=at(3)))
    seq = board.say(says("bill", "started", "2024-03", ref="b2", at=at(3)))[0].seq
    board.say(says("reads", "produced", "2024-03-10", at=at(4), code="v2"))
    read = [ReadInstances("reads", [MARCH])]
    board.say(says("bill", "produced", "2024-03", ref="b2", at=at(5), seq=seq, reads=read))
    assert board.marks("bill")[f"inherited {found.id}"] == ["2024-03"]
    board.say(says("bill", "produced", "2024-03", ref="b3", at=at(6), seq=seq + 2, reads=read))
    assert f"inherited {found.id}" not in board.marks("bill")


def test_a_confirmed_instance_is_right(board: Board) -> None:
    found = opened(board, "2024-03-10")
    board.run(incidents.confirm(board.database, found.id, [Wrong("bill", ["2024-03"])], "bob"))
    assert list(board.marks("bill")) == ["state completed"]
    assert f"inherited {found.id}" in board.marks("report")


def test_what_is_refused(board: Board) -> None:
    with pytest.raises(InvalidStatus, match="None of these instances exists yet"):
        opened(board, "2024-05-01")
    with pytest.raises(NotFound, match="did you mean 'reads'"):
        opened(board, "2024-03-10", entity="read")
    with pytest.raises(NotFound, match="no incident"):
        board.run(incidents.retract(board.database, uuid.uuid4(), "ada"))
    found = opened(board, "2024-03-31..2024-04-02")
    assert found.missing == [Wrong("reads", ["2024-04-01..2024-04-02"])]
