"""Expired records are deleted, in bounded steps, and today's answers stay."""

import asyncio
import datetime as dt
import json
from typing import Any

import pytest
from tests.events import columns, dataset, run_event, schema

from headwater.answer.lineage import catalog, lineage
from headwater.errors import LogIncomplete
from headwater.intake.events.accept import Intake
from headwater.intake.people import audit
from headwater.intake.upkeep import rebuild, retention
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.intake.upkeep.retention import Policy
from headwater.store.database import Database
from headwater.store.events import retention as store

NOW = dt.datetime(2026, 3, 15, tzinfo=dt.UTC)


def send(database: Database, run: Any, events: list[Any], intake: Intake | None = None) -> None:
    run((intake or Intake(database)).accept_batch(json.dumps(events).encode()))


def keep(database: Database, run: Any, dry_run: bool = False, **days: int) -> dict[str, retention.Outcome]:
    report = run(retention.run(database, Policy(**days), dry_run=dry_run, now=NOW))
    assert not report.busy
    return {one.kind: one for one in report.kinds}


def rows(database: Database, run: Any, query: str) -> list[Any]:
    async def work() -> list[Any]:
        async with database.connection() as connection:
            return await (await connection.execute(query.encode())).fetchall()

    return run(work())  # type: ignore[no-any-return]


def count(database: Database, run: Any, table: str) -> int:
    return int(rows(database, run, f"select count(*) from {table}")[0][0])


def day(number: int) -> str:
    """A moment so many days before NOW."""
    return (NOW - dt.timedelta(days=number)).isoformat()


def daily(first: int, last: int, number: int = 0, job: str = "daily", **facets: Any) -> list[Any]:
    """A run a day, the oldest first."""
    return [
        run_event("COMPLETE", number + ago, job, ["/in"], [dataset("/out", **facets)], at=day(ago))
        for ago in range(first, last, -1)
    ]


def test_nothing_is_set_and_nothing_goes(database: Database, run: Any) -> None:
    send(database, run, daily(40, 0))
    before = run(fingerprints(database))
    assert keep(database, run) == {}
    assert run(fingerprints(database)) == before


def test_months_of_the_log_are_dropped_whole(database: Database, run: Any) -> None:
    times = ["2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"]
    odd = ["1999-01-01T00:00:00Z"]
    send(database, run, [run_event("COMPLETE", i, "one", ["/a"], at=at) for i, at in enumerate(times + odd)])
    tried = keep(database, run, dry_run=True, events=30)["events"]
    assert {"events_2025_12", "events_2026_01"} <= set(tried.months)
    assert tried.deleted >= 1
    assert count(database, run, "events") == 5
    done = keep(database, run, events=30)["events"]
    assert done.months == tried.months
    assert done.error is None
    left = rows(database, run, "select event_time from events order by 1")
    assert [at.year * 100 + at.month for (at,) in left] == [202602]
    (dropped,) = rows(database, run, "select log_dropped_before from server_state")
    assert dropped[0] == dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
    assert rows(database, run, "select to_regclass('events_2026_01')") == [(None,)]


def test_old_events_without_runs_go_like_any(database: Database, run: Any) -> None:
    """Thousands of dataset and job events delay nothing."""
    old = [
        {"eventTime": f"1999-01-01T00:00:00.{i:06}Z", "producer": "p", "dataset": dataset(f"/d{i % 7}")} for i in range(1500)
    ] + [
        {"eventTime": f"1999-01-02T00:00:00.{i:06}Z", "producer": "p", "job": {"namespace": "n", "name": "j"}} for i in range(1500)
    ]  # fmt: skip
    send(database, run, [*old, run_event("COMPLETE", 1, "one", at="1999-01-03T00:00:00Z")])
    assert keep(database, run, events=30)["events"].deleted == 3001
    assert count(database, run, "events") == 0


def test_a_server_that_knew_a_month_writes_to_it_again(database: Database, run: Any) -> None:
    intake = Intake(database)
    send(database, run, [run_event("COMPLETE", 1, "one", at="2025-11-01T00:00:00Z")], intake)
    keep(database, run, events=30)
    send(database, run, [run_event("COMPLETE", 2, "one", at="2025-11-02T00:00:00Z")], intake)
    assert count(database, run, "events") == 1


def test_runs_go_and_the_answers_of_today_stay(database: Database, run: Any) -> None:
    told = {**schema("x"), **columns({"x": [("/in", "x", "DIRECT:IDENTITY")]})}
    send(database, run, daily(100, 40, **told))
    question = lineage.Question("dataset:file:/out", "both", 3, True, None, 100, None)

    def today() -> Any:
        found = run(lineage.lineage(database, question))
        page = run(catalog.dataset(database, "file", "/out", None))
        return found.edges, found.column_edges, page.fields, page.producers, page.versions[:1]

    before = today()
    tried = keep(database, run, dry_run=True, runs=30)
    assert tried["reports"].deleted == 50
    done = keep(database, run, runs=30)
    assert {kind: one.deleted for kind, one in done.items()} == {
        "reports": 50,
        "dataset_versions": 50,
        "runs": 50,
        "content": 0,
    }
    assert today() == before
    assert [count(database, run, table) for table in ("runs", "reports", "dataset_versions")] == [10, 10, 10]
    assert [count(database, run, table) for table in ("report_datasets", "report_columns")] == [20, 10]
    assert {one.deleted for one in keep(database, run, runs=30).values()} == {0}
    assert count(database, run, "events") == 60, "the log is kept for as long as it is said"


def test_a_rebuild_leaves_out_the_runs_that_were_deleted(database: Database, run: Any) -> None:
    """The log is kept for longer than runs, so it tells of runs that are gone."""
    told = {**schema("x"), **columns({"x": [("/in", "x", "DIRECT:IDENTITY")]})}
    send(database, run, daily(100, 40, **told))
    send(database, run, daily(100, 70, 200, job="other", **schema("x", "y")))
    keep(database, run, runs=50)
    before = run(fingerprints(database))
    assert run(rebuild.rebuild(database)) == 90
    assert run(fingerprints(database)) == before
    late = daily(99, 98, 500, job="late")
    send(database, run, late)
    keep(database, run, runs=50)
    before = run(fingerprints(database))
    run(rebuild.rebuild(database))
    assert run(fingerprints(database)) == before, "an event of before the cut that came late is treated alike"
    send(database, run, daily(30, 20, 700, **told))
    run(rebuild.delete_what_is_due(database))
    before = run(fingerprints(database))
    run(rebuild.rebuild(database))
    assert run(fingerprints(database)) == before, "newer runs push older ones out of a job's last ten"


def test_what_came_from_what_stays_whatever_its_age(database: Database, run: Any) -> None:
    """A result of today goes back to files of any time, even if the log of that time is gone."""
    told = []
    for ago in range(100, 0, -1):
        before, after = (dataset("/out", version={"datasetVersion": f"xxh3-128:{day:032x}"}) for day in (ago + 1, ago))
        told.append(run_event("COMPLETE", ago, "daily", [before], [after], at=day(ago)))
    send(database, run, told)
    tables = ("correlation_items", "correlation_edges", "correlation_paths")
    before = run(fingerprints(database))
    assert count(database, run, "correlation_edges") == 200
    done = keep(database, run, runs=30, events=30)
    assert done["runs"].deleted > 50
    after = run(fingerprints(database))
    assert after["runs"] != before["runs"]
    assert [after[table] for table in tables] == [before[table] for table in tables]
    send(database, run, told[-5:])
    assert [run(fingerprints(database))[table] for table in tables] == [before[table] for table in tables]


def test_young_runs_and_runs_that_go_on_stay(database: Database, run: Any) -> None:
    send(database, run, daily(60, 0))
    send(database, run, [run_event("RUNNING", 1000 + i, "long", at=day(50 + i)) for i in range(12)])
    send(database, run, [run_event("RUNNING", 1011, "long", at=day(1))])
    keep(database, run, runs=30)
    jobs = dict(rows(database, run, "select j.name, count(*) from runs r join jobs j on j.id = r.job_id group by 1"))
    assert jobs == {"daily": 30, "long": 11}


def test_unreferenced_content_is_deleted_and_can_be_written_again(database: Database, run: Any) -> None:
    """A server that remembers it wrote the columns must not leave them out when they are reported again."""
    intake = Intake(database)
    old = columns({"x": [("/in", "old", "DIRECT:IDENTITY")]})
    send(database, run, daily(100, 98, **old), intake)
    send(database, run, daily(97, 80, **columns({"x": [("/in", "new", "DIRECT:IDENTITY")]})), intake)
    assert count(database, run, "column_sets") == 2
    assert keep(database, run, runs=30)["content"].deleted == 1
    assert count(database, run, "column_sets") == 1
    send(database, run, daily(1, 0, **old), intake)
    assert count(database, run, "column_sets") == 2
    assert (
        rows(
            database,
            run,
            "select 1 from report_columns c where not exists (select from column_sets s where s.id = c.set_id)",
        )
        == []
    )


def test_columns_a_person_drew_stay(database: Database, run: Any) -> None:
    send(database, run, daily(100, 98, **columns({"x": [("/in", "drawn", "DIRECT:IDENTITY")]})))
    send(database, run, daily(97, 80))
    rows(
        database,
        run,
        """insert into edge_changes (job_id, dataset_id, direction, change_id, at, drawn, set_id)
        select gen_random_uuid(), gen_random_uuid(), 'in', gen_random_uuid(), now(), true, id from column_sets returning 1""",
    )
    assert keep(database, run, runs=30)["content"].deleted == 0
    assert count(database, run, "report_columns") == 0
    assert count(database, run, "column_sets") == 1


def test_warnings_and_audit_go_by_their_own_days(database: Database, run: Any) -> None:
    odd = [run_event("STRANGE", i, "one", at=day(40 + i)) for i in range(3)]
    send(database, run, [*odd, run_event("STRANGE", 9, "one", at=day(1))])
    run(audit.append(database, audit.by_command("x", "old", None)))
    assert count(database, run, "warnings") == 4
    assert keep(database, run, dry_run=True, warnings=30)["warnings"].deleted == 3
    assert keep(database, run, warnings=30)["warnings"].deleted == 3
    later = dt.datetime.now(dt.UTC) + dt.timedelta(days=2)
    before = count(database, run, "audit")
    report = run(retention.run(database, Policy(audit=1), now=later))
    assert report.kinds[0].deleted == before
    assert count(database, run, "audit") == 0


def test_nothing_else_takes_rows_out_of_the_audit_log(database: Database, run: Any) -> None:
    run(audit.append(database, audit.by_command("x", "kept", None)))
    for statement in (
        "delete from audit",
        "update audit set actor = 'x'",
        "truncate audit",
        "select set_config('headwater.retention', 'audit', false); update audit set actor = 'x'",
        "select set_config('headwater.retention', 'audit', false); truncate audit",
    ):
        with pytest.raises(Exception, match="only ever added to"):
            rows(database, run, statement)
    rows(database, run, "select set_config('headwater.retention', '', false)")


def test_a_rebuild_that_would_lose_history_is_refused(database: Database, run: Any) -> None:
    send(database, run, daily(100, 0))
    keep(database, run, events=30)
    tables = run(fingerprints(database))
    with pytest.raises(LogIncomplete, match=r"before 2026-02-01 were dropped.*--from-what-is-left"):
        run(rebuild.rebuild(database))
    assert run(fingerprints(database)) == tables
    left = count(database, run, "events")
    assert run(rebuild.rebuild(database, from_what_is_left=True)) == left
    assert count(database, run, "runs") == left


def test_one_process_at_a_time(database: Database, run: Any) -> None:
    async def work() -> retention.Report:
        async with database.connection() as connection:
            assert await store.try_lock(connection)
            try:
                return await retention.run(database, Policy(events=1), now=NOW)
            finally:
                await store.unlock(connection)

    assert run(work()) == retention.Report(False, True, [])
    assert keep(database, run, events=1)


def test_what_is_locked_is_left_and_stops_nothing(database: Database, run: Any) -> None:
    """Rows that a writer holds are left for the next pass; a long read of a table is an error of that kind alone."""
    send(database, run, [*daily(100, 40), run_event("STRANGE", 900, "one", at="1999-01-01T00:00:00Z")])

    async def work() -> retention.Report:
        async with database.transaction() as connection:
            await connection.execute("lock table events in access share mode")
            await connection.execute("select from reports order by first_at limit 5 for update")
            return await asyncio.wait_for(
                retention.run(database, Policy(events=30, runs=30, warnings=30), now=NOW), timeout=60
            )

    told = {one.kind: one for one in run(work()).kinds}
    assert told["events"].error is not None
    assert "lock timeout" in told["events"].error
    assert (told["reports"].deleted, told["warnings"].deleted) == (45, 1)
    assert rows(database, run, "select kind from retention where error is not null") == [("events",)]
    again = keep(database, run, events=30, runs=30)
    assert again["events"].error is None
    assert again["reports"].deleted == 5


def test_batches_are_bounded_and_a_stopped_run_goes_on(
    database: Database, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_BATCH", 7)
    send(database, run, daily(100, 40))
    real, calls = store.delete_reports, []

    async def stopping(connection: Any, found: Any, before: Any) -> int:
        assert len(found) <= 7
        calls.append(1)
        if len(calls) == 4:
            raise asyncio.CancelledError
        return await real(connection, found, before)

    monkeypatch.setattr(store, "delete_reports", stopping)
    with pytest.raises(asyncio.CancelledError):
        run(retention.run(database, Policy(runs=30), now=NOW))
    assert count(database, run, "reports") == 60 - 21
    assert rows(database, run, "select kind, deleted from retention") == [("reports", 21)]
    assert keep(database, run, runs=30)["reports"].deleted == 50 - 21


def test_writers_go_on_meanwhile(database: Database, run: Any) -> None:
    send(database, run, daily(100, 40))

    async def work() -> None:
        intake = Intake(database)
        late = [json.dumps([event]).encode() for event in daily(100, 60)]
        await asyncio.gather(
            retention.run(database, Policy(runs=30), now=NOW), *(intake.accept_batch(body) for body in late[:20])
        )

    run(work())
    assert count(database, run, "reports") >= 10
    orphans = "select 1 from report_datasets d where not exists (select from reports r where r.job_id = d.job_id and r.report_id = d.report_id)"
    assert rows(database, run, orphans) == []
