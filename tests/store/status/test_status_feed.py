"""Events become reports: once, in any order of a run's events, and after any kill."""

import asyncio
import datetime as dt
import itertools
import json
from typing import Any

import pytest

from events import facet, run_event
from headwater.entities.status.marks import by_entity, replayed
from headwater.entities.time import ranges
from headwater.intake.events.accept import Intake
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.feed import Feed
from headwater.store.database import Database
from headwater.store.events.arrivals import settled
from headwater.store.people.listeners import Place
from headwater.store.status import feed as status_feed
from headwater.store.status import status as store

DECLARED = """
entity: reads
period: {every: day, from: 2024-01-01}
stored_in: [{namespace: warehouse, name: db.reads}]
---
entity: report
period: {every: week, from: 2024-01-01}
depends_on: {reads: all_week}
produced_by: [airflow://prod/weekly/report]
---
entity: sites
kind: static
stored_in: [{namespace: warehouse, name: db.sites}]
"""


def nominal(start: str, end: str | None = None) -> dict[str, Any]:
    told = {"nominalStartTime": f"{start}T00:00:00Z", "nominalEndTime": f"{end}T00:00:00Z" if end else None}
    return {"nominalTime": facet(**told)}


def table(name: str, *days: str, **facets: Any) -> dict[str, Any]:
    partitions = [{"identifier": day, "dimensions": {"date": day}} for day in days]
    subset = {"type": "partition", "partitions": partitions}
    told = {"subset": facet(inputCondition=subset, outputCondition=subset)} if days else {}
    return {
        "namespace": "warehouse",
        "name": name,
        "facets": facets,
        "inputFacets": told,
        "outputFacets": told,
    }


def minute(number: int) -> str:
    return (dt.datetime(2024, 3, 20, tzinfo=dt.UTC) + dt.timedelta(minutes=number)).isoformat()


START = run_event(
    "START", 1, "load", [], [table("db.reads")], at=minute(0), run_facets=nominal("2024-03-10", "2024-03-11")
)
COMPLETE = run_event("COMPLETE", 1, "load", at=minute(5))
FAIL = run_event("FAIL", 1, "load", at=minute(4))


class Log:
    """A database with entities, its intake, and a feed."""

    def __init__(self, database: Database, run: Any) -> None:
        self.database, self.run = database, run
        self.intake, self.feed = Intake(database), Feed(database)
        run(apply(database, [File("entities.yaml", DECLARED)], "tests"))
        run(self._begin())

    async def _begin(self) -> None:
        safe = await settled(self.database)
        async with self.database.transaction() as connection:
            await status_feed.move(connection, Place(safe + 1))

    def send(self, *events: dict[str, Any]) -> None:
        for event in events:
            self.run(self.intake.accept(json.dumps(event).encode()))

    def fed(self, feed: Feed | None = None) -> dict[str, int]:
        """Feed all waiting events and count their outcomes."""

        async def work() -> dict[str, int]:
            safe, outcomes = await settled(self.database), dict[str, int]()
            while (one := await (feed or self.feed).live(safe)) is not None and one.events:
                outcomes = {key: outcomes.get(key, 0) + one.outcomes[key] for key in {*outcomes, *one.outcomes}}
            return {key: count for key, count in outcomes.items() if count}

        return self.run(work())

    def marks(self, entity: str) -> dict[str, list[str]]:
        return self.run(self._marks(entity))

    async def _marks(self, entity: str) -> dict[str, list[str]]:
        async with self.database.connection() as connection:
            held = await declared(connection)
            number = held.number(entity)
            marks = by_entity(await store.marks_of(connection, [number])).get(number, {})
            assert dict(marks) == dict(replayed(await store.changes(connection, (number, -(2**40), 2**40), 2**60)))
            return {
                f"{mark.kind} {mark.ref}": ranges.written(held.instances(entity), some) for mark, some in marks.items()
            }

    def versions(self, entity: str) -> list[store.Version]:
        async def work() -> list[store.Version]:
            async with self.database.connection() as connection:
                number = (await declared(connection)).number(entity)
                return await store.versions(connection, [(number, -(2**40), 2**40)], 2**60)

        return self.run(work())

    def reads(self, seq: int) -> list[store.Read]:
        async def work() -> list[store.Read]:
            async with self.database.connection() as connection:
                return await store.reads(connection, [seq])

        return self.run(work())


@pytest.fixture
def log(database: Database, run: Any) -> Log:
    return Log(database, run)


RUN = START["run"]["runId"]
DONE = {"state completed": ["2024-03-10"]}


def test_a_run_that_completes(log: Log) -> None:
    log.send(START)
    assert log.fed() == {"taken": 1}
    assert log.marks("reads") == {f"running {RUN}": ["2024-03-10"]}
    log.send(COMPLETE)
    assert log.fed() == {"taken": 1, "duplicate": 1}
    assert log.marks("reads") == DONE
    (version,) = log.versions("reads")
    assert (version.run, version.produced_at.isoformat()) == (RUN, "2024-03-20T00:05:00+00:00")
    log.send(START, COMPLETE)
    assert log.fed() == {}


def test_a_run_that_fails(log: Log) -> None:
    log.send(START, FAIL)
    log.fed()
    assert log.marks("reads") == {}
    assert log.versions("reads") == []


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("failing", [True, False])
def test_any_order_ends_in_the_same_marks(log: Log, together: bool, failing: bool) -> None:
    expected = DONE | ({"suspect run said failed and completed": ["2024-03-10"]} if failing else {})
    events = [START, COMPLETE, *([FAIL] if failing else [])]
    for number, order in enumerate(itertools.permutations(events)):
        # Each order is of a run, and a day, of its own.
        day, run = f"2024-04-{number + 1:02}", number + 100
        for event in order:
            facets = nominal(day, f"2024-04-{number + 2:02}") if event["run"]["facets"] else {}
            again = {**event, "run": {"runId": START["run"]["runId"][:-3] + str(run), "facets": facets}}
            log.send(again)
            if not together:
                log.fed()
        log.fed()
        assert {mark: [day] for mark in expected} == {
            mark: [day] for mark, days in log.marks("reads").items() if days[-1].endswith(day)
        }, order


def test_a_newer_version_is_not_doubted_for_an_older_run(log: Log) -> None:
    other = run_event(
        "COMPLETE", 2, "load", [], [table("db.reads")], at=minute(9), run_facets=nominal("2024-03-10", "2024-03-11")
    )
    log.send(START, COMPLETE, other, FAIL)
    log.fed()
    assert log.marks("reads") == DONE


def test_what_was_started_and_not_made_does_not_run_for_ever(log: Log) -> None:
    """The start has a nominal time, the end the partitions."""
    log.send(START)
    log.fed()
    log.send({**COMPLETE, "outputs": [table("db.reads", "2024-03-08", "2024-03-09")]})
    log.fed()
    assert log.marks("reads") == {"state completed": ["2024-03-08..2024-03-09"]}


def test_a_job_makes_an_entity_without_outputs(log: Log) -> None:
    week = nominal("2024-03-04", "2024-03-11")
    log.send(run_event("COMPLETE", 3, "weekly.report", at=minute(7), namespace="prod", run_facets=week))
    log.fed()
    assert log.marks("report") == {"state completed": ["2024-W10"]}


@pytest.mark.parametrize("together", [True, False])
def test_what_was_read_is_as_of_the_start(log: Log, together: bool) -> None:
    """While the run reads, a day is made again: it read the older one."""
    days = [f"2024-03-{day:02}" for day in range(4, 11)]
    week = nominal("2024-03-04", "2024-03-11")
    made = run_event("COMPLETE", 4, "load", [], [table("db.reads", *days)], at=minute(0))
    start = run_event("START", 5, "weekly.report", at=minute(1), namespace="prod", run_facets=week)
    again = run_event("COMPLETE", 6, "load", [], [table("db.reads", days[0])], at=minute(2))
    done = run_event("COMPLETE", 5, "weekly.report", [table("db.reads", *days)], at=minute(3), namespace="prod")
    for event in (made, start, again, done):
        log.send(event)
        if not together:
            log.fed()
    log.fed()
    older, newer = (version.seq for version in log.versions("reads"))
    (version,) = log.versions("report")
    assert version.complete
    (read,) = log.reads(version.seq)
    assert older <= read.read_seq < newer < version.seq


def test_what_was_read_in_part_is_not_recorded(log: Log) -> None:
    week = nominal("2024-03-04", "2024-03-11")
    for number, inputs in enumerate(([], [table("db.reads")])):
        log.send(run_event("COMPLETE", 7 + number, "weekly.report", inputs, namespace="prod", run_facets=week))
    log.fed()
    assert [version.complete for version in log.versions("report")] == [False, False]


def test_the_period_of_the_run_above_holds(log: Log) -> None:
    """Spark knows no period; the task that started it does."""
    above = {"run": {"runId": RUN}, "job": {"namespace": "prod", "name": "dag.task"}}
    task = run_event("START", 1, "dag.task", namespace="prod", run_facets=nominal("2024-03-10", "2024-03-11"))
    spark = run_event(
        "COMPLETE", 9, "app.save", [], [table("db.reads")], run_facets={"parent": facet(**above)}, at=minute(3)
    )
    log.send(task, spark)
    log.fed()
    assert log.marks("reads") == DONE


def test_nothing_is_guessed(log: Log) -> None:
    log.send(
        run_event("COMPLETE", 1, "load", [], [table("db.reads")]),
        run_event("COMPLETE", 2, "load", [], [table("db.sites")]),
    )
    assert log.fed() == {"unplaced": 1, "taken": 1}
    assert log.marks("reads") == {}
    assert log.marks("sites") == {"state completed": ["static"]}


class Killed(BaseException):
    """The process is gone."""


def test_a_feeder_that_is_killed_is_followed_without_loss_or_doubling(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = [f"2024-03-{day:02}" for day in range(1, 21)]
    for number, day in enumerate(days):
        log.send(run_event("COMPLETE", number, "load", [], [table("db.reads", day)], at=minute(number)))
    move, killed = status_feed.move, iter([True, False, True, True, False])

    async def moved(connection: Any, to: Place) -> None:
        await move(connection, to)
        if next(killed, False):
            raise Killed

    monkeypatch.setattr("headwater.intake.status.feed.store.move", moved)
    monkeypatch.setattr("headwater.intake.status.feed._EVENTS", 3)
    kills = 0
    for _ in range(10):
        try:
            log.fed(Feed(log.database))
        except Killed:
            kills += 1
    assert kills == 3
    assert log.marks("reads") == {"state completed": ["2024-03-01..2024-03-20"]}
    assert len(log.versions("reads")) == 20


def test_two_feeders_at_once(log: Log, run: Any) -> None:
    for number in range(60):
        log.send(
            run_event(
                "COMPLETE", number, "load", [], [table("db.reads", f"2024-03-{number % 30 + 1:02}")], at=minute(number)
            )
        )

    async def both() -> list[int]:
        safe = await settled(log.database)

        async def one() -> int:
            feed, read = Feed(log.database), 0
            for _ in range(200):
                fed = await feed.live(safe)
                if fed is not None and not fed.events:
                    break
                read += fed.events if fed else 0
                await asyncio.sleep(0.001)
            return read

        return await asyncio.gather(one(), one())

    assert sum(run(both())) == 60
    assert len(log.versions("reads")) == 60


def test_an_event_that_cannot_be_fed_is_passed(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.intake.status import feed as feeding
    from headwater.intake.status.reports import Batch

    reports, write = feeding.reports, Batch.write

    def poisoned(told: Any, *more: Any) -> Any:
        if told.job.name == "poison":
            raise ZeroDivisionError
        return reports(told, *more)

    async def refused(self: Any) -> Any:
        if any("2024-03-09" in one.report.instances for one in self.reports):
            raise ZeroDivisionError
        return await write(self)

    monkeypatch.setattr(feeding, "reports", poisoned)
    monkeypatch.setattr(Batch, "write", refused)
    for number, (job, day) in enumerate((("load", "08"), ("poison", "20"), ("load", "09"), ("load", "10"))):
        log.send(run_event("COMPLETE", number, job, [], [table("db.reads", f"2024-03-{day}")], at=minute(number)))
    assert log.fed() == {"taken": 2, "failed": 2}
    assert log.marks("reads") == {"state completed": ["2024-03-08", "2024-03-10"]}


def test_older_events_are_fed_on_request(log: Log, run: Any) -> None:
    days = [f"2024-03-{day:02}" for day in range(1, 11)]
    for number, day in reversed(list(enumerate(days))):
        log.send(run_event("COMPLETE", number, "load", [], [table("db.reads", day)], at=minute(number)))
    run(log._begin())
    assert log.fed() == {}
    since = dt.datetime(2024, 3, 20, 0, 4, tzinfo=dt.UTC)
    first = run(log.feed.since(since))
    assert (first.events, first.outcomes["taken"]) == (6, 6)
    assert log.marks("reads") == {"state completed": ["2024-03-05..2024-03-10"]}
    second = run(log.feed.since(dt.datetime(2024, 1, 1, tzinfo=dt.UTC)))
    assert (second.outcomes["taken"], second.outcomes["duplicate"]) == (4, 6)


def test_where_nothing_is_declared_nothing_waits(database: Database, run: Any) -> None:
    intake, feed = Intake(database), Feed(database)
    run(intake.accept(json.dumps(COMPLETE).encode()))
    safe = run(settled(database))
    assert run(feed.live(safe)) is None
    assert feed.idle

    async def place() -> Place:
        async with database.connection() as connection:
            return await status_feed.place(connection)

    assert run(place()).arrived == safe + 1
