"""Reports about instances: what they make hold, what is kept of them, and that the marks follow from the log."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from headwater.entities.declaration import stored_declarations
from headwater.entities.status.marks import by_entity, replayed
from headwater.entities.time import ranges
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.reports import ReportOutcome, SentReport, record
from headwater.intake.status.request import ReadInstances, Reported
from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Database
from headwater.store.status import status as store

T0 = dt.datetime(2024, 3, 20, tzinfo=dt.UTC)

DECLARED = """
entity: reads
period: {every: day, from: 2024-01-01}
states: [estimated, completed]
---
entity: report
period: {every: week, from: 2024-01-01}
depends_on: {reads: all_week}
---
entity: bill
period: {every: month, from: 2024-01-01}
depends_on: {reads: all_month}
"""


def at(hours: float) -> dt.datetime:
    return T0 + dt.timedelta(hours=hours)


def says(entity: str, what: Any, *instances: str, **more: Any) -> SentReport:
    return SentReport(Reported(entity=entity, what=what, instances=list(instances), **more), "tests")


class Board:
    """A database with these entities declared."""

    def __init__(self, database: Database, run: Any) -> None:
        self.database, self.run = database, run
        run(apply(database, [File("entities.yaml", DECLARED)], "tests"))

    def say(self, *told: SentReport) -> list[ReportOutcome]:
        return self.run(record(self.database, told))[1]

    def marks(self, entity: str) -> dict[str, list[str]]:
        """`{"state completed": ["2024-03-10"], …}`, once the log has told the same."""
        return self.run(self._marks(entity))

    async def _marks(self, entity: str) -> dict[str, list[str]]:
        async with self.database.connection() as connection:
            held = await declared(connection)
            number = held.number(entity)
            rows = await store.marks_of(connection, [number])
            marks = by_entity(rows).get(number)
            again = replayed(await store.changes(connection, (number, -(2**40), 2**40), 2**60))
            if marks is None:
                assert not again
                return {}
            assert marks == again
            # Runs of one mark are apart.
            assert len(rows) == sum(some.runs for some in marks.values())
            return {
                f"{mark.kind} {mark.ref}": ranges.written(held.instances(entity), some) for mark, some in marks.items()
            }


@pytest.fixture
def board(database: Database, run: Any) -> Board:
    return Board(database, run)


def test_a_run_makes_an_instance(board: Board) -> None:
    (started,) = board.say(says("reads", "started", "2024-03-10", ref="r1", at=at(0)))
    assert (started.seq, started.changed) == (1, True)
    assert board.marks("reads") == {"running r1": ["2024-03-10"]}
    board.say(says("reads", "produced", "2024-03-10", ref="r1", at=at(1)))
    assert board.marks("reads") == {"state completed": ["2024-03-10"]}
    board.say(
        says("reads", "produced", "2024-03-09", ref="r0", at=at(2)), says("reads", "produced", "2024-03-11", at=at(3))
    )
    assert board.marks("reads") == {"state completed": ["2024-03-09..2024-03-11"]}


def test_saying_it_twice_changes_nothing(board: Board) -> None:
    one = says("reads", "produced", "2024-03-10", ref="r1", at=at(1))
    first, second = board.say(one, one)
    (third,) = board.say(one)
    assert first.seq == 1
    assert not first.duplicate
    assert (second.seq, second.duplicate, third.seq, third.duplicate) == (1, True, 1, True)
    (other,) = board.say(says("reads", "produced", "2024-03-10", ref="r1", at=at(2)))
    assert (other.seq, other.changed) == (2, False)


def test_what_comes_late_is_kept_and_changes_nothing_else(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-10..2024-03-11", ref="r2", at=at(5)))
    (late,) = board.say(says("reads", "produced", "2024-03-09..2024-03-10", ref="r1", at=at(1), states=["estimated"]))
    assert late.late == ["2024-03-10"]
    assert board.marks("reads") == {
        "state completed": ["2024-03-10..2024-03-11"],
        "state estimated": ["2024-03-09"],
    }
    board.say(says("reads", "started", "2024-03-09", ref="r1", at=at(0)))
    assert "running r1" not in board.marks("reads")


def test_a_report_that_makes_no_sense_does_not_stop_the_others(board: Board) -> None:
    entity, state, good, day, missing = board.say(
        says("raeds", "produced", "2024-03-10"),
        says("reads", "produced", "2024-03-10", states=["complete"]),
        says("reads", "produced", "2024-03-10"),
        says("reads", "produced", "2023-12-31"),
        says("report", "doubted", "2024-W10", ref="not_null"),
    )
    assert good.seq == 1
    told = [each.refused for each in (entity, state, day, missing)]
    assert [each.code for each in told if each] == ["not_found", "invalid_status", "invalid_period", "invalid_status"]
    assert told[0]
    assert "did you mean 'reads'" in told[0].message
    assert told[1]
    assert "did you mean 'completed'" in told[1].message


def test_an_interval_names_instances(board: Board) -> None:
    board.say(says("reads", "produced", start=T0 - dt.timedelta(10), end=T0 - dt.timedelta(8), at=at(1)))
    assert board.marks("reads") == {"state completed": ["2024-03-10..2024-03-11"]}


def test_what_a_version_read_is_kept(board: Board, run: Any) -> None:
    board.say(says("reads", "produced", "2024-03-04..2024-03-10", at=at(1)))
    board.say(
        says(
            "report",
            "produced",
            "2024-W10",
            at=at(2),
            reads=[ReadInstances("reads", ["2024-03-04..2024-03-10"])],
            fingerprint="xxh3:1",
        )
    )

    async def kept() -> Any:
        async with board.database.connection() as connection:
            held = await declared(connection)
            (week,) = ranges.read(held.instances("report"), ["2024-W10"])
            (version,) = await store.versions(connection, [(held.number("report"), *week)], 99)
            (read,) = await store.reads(connection, [version.seq])
            return version, read, held.number("reads")

    version, read, reads = run(kept())
    assert (version.seq, version.fingerprint, version.complete) == (2, "xxh3:1", True)
    assert (read.upstream_id, read.end_ - read.start_, read.read_seq) == (reads, 7, 1)


def test_marks_as_rows_stay_few(board: Board) -> None:
    for month in range(1, 4):
        for day in range(1, 29):
            board.say(says("reads", "produced", f"2024-{month:02}-{day:02}"))
    assert board.marks("reads") == {
        "state completed": ["2024-01-01..2024-01-28", "2024-02-01..2024-02-28", "2024-03-01..2024-03-28"]
    }


def test_deleted_and_made_again(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-01..2024-03-10", at=at(0)))
    board.say(says("reads", "deleted", "..2024-03-05", ref="retention", at=at(1)))
    assert board.marks("reads") == {
        "deleted retention": ["2024-03-01..2024-03-05"],
        "state completed": ["2024-03-06..2024-03-10"],
    }
    board.say(says("reads", "produced", "2024-03-05", at=at(2)))
    assert board.marks("reads")["deleted retention"] == ["2024-03-01..2024-03-04"]


def test_who_used_what_was_made_again_is_stale(board: Board) -> None:
    board.say(says("reads", "produced", "2024-03-01..2024-03-31", at=at(0), fingerprint="xxh3:1"))
    board.say(
        says("report", "produced", "2024-W10", at=at(1), reads=[ReadInstances("reads", ["2024-03-04..2024-03-09"])]),
        says("report", "produced", "2024-W11", at=at(1)),
        says("bill", "produced", "2024-03", at=at(1)),
    )
    board.say(says("reads", "produced", "2024-03-11", at=at(2), fingerprint="xxh3:1"))
    assert "stale " not in board.marks("report")
    board.say(says("reads", "produced", "2024-03-10..2024-03-11", at=at(3), fingerprint="xxh3:2"))
    # Week 10 is known not to have read the 10th.
    assert board.marks("report")["stale "] == ["2024-W11"]
    assert board.marks("bill")["stale "] == ["2024-03"]
    board.say(says("report", "produced", "2024-W11", at=at(4)))
    assert "stale " not in board.marks("report")
    # A late report replaces nothing.
    board.say(says("reads", "produced", "2024-03-12", at=at(-5), fingerprint="xxh3:0"))
    assert "stale " not in board.marks("report")


def test_a_batch_takes_no_more_statements_than_one_report(board: Board, statements: Any) -> None:
    told = [says("reads", "produced", f"2024-03-{day:02}", ref=f"r{day}", at=at(day), reads=[]) for day in range(1, 31)]
    board.say(told[0])
    with statements() as alone:
        board.say(told[1])
    with statements() as together:
        assert all(one.changed for one in board.say(*told[2:]))
    assert len(together) <= len(alone) <= 6


async def planned(database: Database, table: str, query: sqlfile.Query, asked: dict[str, Any]) -> list[str]:
    """Return the nodes of the plan by which a vacuumed table is read."""

    def nodes(plan: dict[str, Any]) -> list[str]:
        below = [node for each in plan.get("Plans", []) for node in nodes(each)]
        return [f"{plan['Node Type']} {plan.get('Index Name', '')}", *below]

    async with database.connection() as connection:
        await connection.execute("vacuum (analyze) " + table)
        cursor = await connection.execute("explain (format json) " + query.sql, asked)
        ((told,),) = await cursor.fetchall()
    return nodes(told[0]["Plan"])


def test_what_held_before_is_told_from_one_index(board: Board, run: Any) -> None:
    """The table is not read, in which the changes of one entity lie far apart, and nothing is sorted."""

    async def nodes() -> list[str]:
        async with board.database.connection() as connection:
            await connection.execute(
                "insert into status_changes (entity_id, seq, kind, ref, start_, end_, added) "
                "select id, seq, 'state', 'completed', seq, seq + 1, true from generate_series(1, 5000) seq, generate_series(1, 4) id"
            )
        asked = {"entity_id": 1, "start_": 0, "end_": 2**40, "seq": 2**40}
        return await planned(board.database, "status_changes", sqlfile.load("status/status")["changes"], asked)

    assert run(nodes()) == ["Index Only Scan status_changes_of"]


def test_what_exists_is_told_from_the_key(board: Board, run: Any) -> None:
    """All ranges of an entity that end after the instances are examined, wherever they begin."""

    async def nodes() -> list[str]:
        async with board.database.connection() as connection:
            await connection.execute(
                "insert into status_marks (entity_id, kind, ref, start_, end_) "
                "select id, 'state', 'completed', 2 * k, 2 * k + 1 from generate_series(1, 5000) k, generate_series(1, 4) id"
            )
        asked = {"entity_id": Packed("int4", [1]), "start_": Packed("int8", [8]), "end_": Packed("int8", [9])}
        return await planned(board.database, "status_marks", sqlfile.load("status/histories")["there"], asked)

    assert "Index Only Scan status_marks_pkey" in run(nodes())


def test_many_who_ask_at_once_make_the_declarations_once(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    class Counted(stored_declarations.StoredDeclarations):
        def __init__(self, *given: Any) -> None:
            made.append(given[0])
            super().__init__(*given)

    monkeypatch.setattr(stored_declarations, "StoredDeclarations", Counted)

    async def ask() -> list[stored_declarations.StoredDeclarations]:
        async def one() -> stored_declarations.StoredDeclarations:
            async with board.database.connection() as connection:
                return await declared(connection)

        await apply(board.database, [File("more.yaml", "entity: more\nperiod: day\n")], "tests")
        return await asyncio.gather(*(one() for _ in range(8)))

    found = board.run(ask())
    assert len(set(map(id, found))) == 1
    assert made.count(found[0].id) == 1
