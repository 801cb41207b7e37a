"""The reports about instances from events of real producers (tests/cases/status_events): each case is a run's events and all reports from them."""

import datetime as dt
import itertools
import json
import random
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.entities.declaration.canonical import document
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.declaration.whole import gathered
from headwater.intake.status.request import resolve_report
from headwater.intake.status.run_reports import Places, Reports, above, reports, spellings
from headwater.intake.status.run_summary import LoggedEvent, RunSummary, summarise_run
from headwater.model import version
from headwater.model.event import read
from headwater.model.identity import Identity, Rule
from headwater.model.names import JobName

CASES = Path(__file__).parents[3] / "cases/status_events"
NOW = dt.datetime(2024, 7, 1, tzinfo=dt.UTC)


def held() -> StoredDeclarations:
    declaration = gathered([("entities.yaml", (CASES / "entities.yaml").read_bytes())])
    rows = [(number, msgspec.json.encode(document(one))) for number, one in enumerate(declaration.by_name.values())]
    return StoredDeclarations(uuid.uuid4(), rows)


PLACES = Places(held(), Identity())


def heard(event: dict[str, Any]) -> LoggedEvent:
    body = json.dumps(event).encode()
    one = read(body)
    assert one.time is not None
    return LoggedEvent(one, one.time, version.event_digest(body), NOW)


def run(events: list[dict[str, Any]]) -> RunSummary:
    return summarise_run(map(heard, events))


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['about']}")
        for path in sorted(CASES.glob("*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))
    ]


def said(some: Reports, expected: list[list[Any]]) -> list[list[Any]]:
    """Return reports as the cases write them, with only those facts that the case has."""
    found = []
    for nth, one in enumerate(some.reports):
        facts = expected[nth][3] if nth < len(expected) and len(expected[nth]) > 3 else None
        line: list[Any] = [one.what, one.entity, one.instances]
        if facts is not None:
            reads = None if one.reads is None else {each.entity: each.instances for each in one.reads}
            line.append({fact: reads if fact == "reads" else getattr(one, fact) for fact in facts})
        found.append(line)
    return found


@pytest.mark.parametrize("case", cases())
def test_what_is_said(case: dict[str, Any]) -> None:
    found = reports(run(case["events"]), PLACES)
    assert said(found, case["says"]) == case["says"]
    assert [[one.entity, one.why] for one in found.unplaced] == case.get("unplaced", [])
    assert [[one.what, one.entity, one.instances] for one in found.doubts] == case.get("doubts", [])
    for report in (*found.reports, *found.doubts):
        resolve_report(report, PLACES.held, NOW)  # every report is valid
        assert report.ref
        assert report.at is not None
        assert report.at < NOW


@pytest.mark.parametrize("case", [case for case in cases() if len(case.values[0]["events"]) > 1])
def test_the_order_of_a_runs_events_changes_nothing(case: Any) -> None:
    expected = reports(run(case["events"]), PLACES)
    for order in itertools.permutations(case["events"]):
        assert reports(run([*order, *order]), PLACES) == expected


def test_the_later_of_two_facets_stands() -> None:
    (first, *_) = json.loads((CASES / "headwater.json").read_text(encoding="utf-8"))
    start, end = first["events"]
    end["run"]["facets"] = {"headwater_period": {"entity": "reads", "instances": ["2024-03-09"]}}
    for events in ([start, end], [end, start]):
        assert [one.instances for one in reports(run(events), PLACES).reports] == [["2024-03-09"]] * 2


def test_keys_tell_events_apart_and_nothing_else() -> None:
    (first, *_) = json.loads((CASES / "airflow.json").read_text(encoding="utf-8"))
    one, other = (reports(run(first["events"]), PLACES).reports for _ in range(2))
    assert [each.key for each in one] == [each.key for each in other]
    retried = [{**event, "run": {**event["run"], "runId": str(uuid.uuid4())}} for event in first["events"]]
    third = reports(run(retried), PLACES).reports
    assert len({each.key for each in (*one, *third)}) == 4


def test_rules_about_names_hold() -> None:
    rules = (Rule("namespace", "snowflake://old", "snowflake://acme"),)
    (first, *_) = json.loads((CASES / "airflow.json").read_text(encoding="utf-8"))
    events = json.loads(json.dumps(first["events"]).replace("snowflake://acme", "snowflake://old"))
    assert reports(run(events), PLACES).reports == []
    assert len(reports(run(events), Places(PLACES.held, Identity(rules))).reports) == 2


def test_the_run_above_counts_after_the_run_itself() -> None:
    spark = json.loads((CASES / "spark.json").read_text(encoding="utf-8"))
    events = next(case["events"] for case in spark if case["about"] == "a partition without a time says nothing")
    nominal = {"nominalTime": msgspec.Raw(b'{"nominalStartTime": "2024-03-10T00:00:00Z"}')}
    other = {"nominalTime": msgspec.Raw(b'{"nominalStartTime": "2024-03-12T00:00:00Z"}')}
    (one,) = reports(run(events), PLACES, [nominal, other]).reports
    assert one.instances == ["2024-03-10"]
    events[0]["run"]["facets"] = {"nominalTime": {"nominalStartTime": "2024-03-11T00:00:00Z"}}
    (one,) = reports(run(events), PLACES, [nominal]).reports
    assert one.instances == ["2024-03-11"]


def test_what_the_run_above_reports_is_not_learned_from_those_below() -> None:
    spark = json.loads((CASES / "spark.json").read_text(encoding="utf-8"))
    above_ = {"headwater_period": msgspec.Raw(b'{"instances": ["2024-03-10"], "reported": true}')}
    assert reports(run(spark[0]["events"]), PLACES, [above_]) == Reports([], [], [])


def test_the_runs_above_are_its_parent_and_its_root() -> None:
    event = json.loads((CASES / "spark.json").read_text(encoding="utf-8"))[0]["events"][0]
    ids = [uuid.uuid4() for _ in range(2)]
    job = {"namespace": "prod", "name": "dag"}
    root = {"run": {"runId": str(ids[1])}, "job": job}
    event["run"]["facets"] = {"parent": {"run": {"runId": str(ids[0])}, "job": job, "root": root}}
    assert above(run([event])) == ids


@pytest.mark.parametrize(
    ("namespace", "name", "declared"),
    [
        ("prod", "dag.task", "airflow://prod/dag/task"),
        ("airflow://prod", "dag.task", "airflow://prod/dag/task"),
        ("prod", "dag", "airflow://prod/dag"),
        ("prod", "dag.group.task", "airflow://prod/dag/group.task"),
        ("spark", "app.save", "spark/app.save"),
    ],
)
def test_how_jobs_are_written(namespace: str, name: str, declared: str) -> None:
    assert declared in set(spellings(JobName(namespace, name)))
    assert "airflow://prod/dag/other" not in set(spellings(JobName(namespace, name)))


def test_runs_that_follow_each_other_leave_out_no_instance_and_share_none() -> None:
    """The rule holds for every hour of a schedule, with intervals shorter and longer than the entity's period."""
    rng = random.Random(1)
    template = json.loads((CASES / "airflow.json").read_text(encoding="utf-8"))[1]["events"][0]
    for _ in range(30):
        step, begin = rng.choice((1, 3, 6, 12, 24, 48, 168)), dt.datetime(2024, 3, 1, rng.randrange(24), tzinfo=dt.UTC)
        made: list[str] = []
        for nth in range(24 * 20 // step):
            start, end = (begin + dt.timedelta(hours=step * (nth + more)) for more in (0, 1))
            facet = {"nominalStartTime": start.isoformat(), "nominalEndTime": end.isoformat()}
            template["run"]["facets"] = {"nominalTime": facet}
            for one in reports(run([template]), PLACES).reports:
                first, _, last = one.instances[0].partition("..")
                days = (dt.date.fromisoformat(last or first) - dt.date.fromisoformat(first)).days + 1
                made += [str(dt.date.fromisoformat(first) + dt.timedelta(day)) for day in range(days)]
        until = begin + dt.timedelta(hours=step * (24 * 20 // step))
        assert made == [
            str(dt.date(2024, 3, 1) + dt.timedelta(day)) for day in range((until.date() - dt.date(2024, 3, 1)).days)
        ]
