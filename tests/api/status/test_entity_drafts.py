"""Entities drafted from what was observed, exactly as they are written; and declared ones that come back from their runs alone."""

import datetime as dt
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.app import Client
from tests.scale import full

from events import facet, run_event
from headwater.entities.declaration.canonical import document
from headwater.entities.declaration.whole import Declaration, gathered
from headwater.entities.time import keys
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.intake.events.accept import Intake
from headwater.intake.status.entities import File, apply
from headwater.store.database import Database

CASES = Path(__file__).parents[2] / "cases" / "entities" / "drafts"
RUNS = itertools.count(1)


def table(name: str, *dates: str, namespace: str = "warehouse", **facets: Any) -> dict[str, Any]:
    """A dataset, and which parts of it were read or written."""
    subset = {"type": "partition", "partitions": [{"identifier": one, "dimensions": {"date": one}} for one in dates]}
    told = {"subset": facet(inputCondition=subset, outputCondition=subset)} if dates else {}
    return {"namespace": namespace, "name": name, "facets": facets, "inputFacets": told, "outputFacets": told}


def days(first: str, count: int) -> list[str]:
    start = dt.date.fromisoformat(first)
    return [str(start + dt.timedelta(one)) for one in range(count)]


def one_run(
    job: str,
    inputs: list[Any],
    outputs: list[Any],
    at: dt.datetime | str,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
    type_: str = "COMPLETE",
    **more: Any,
) -> dict[str, Any]:
    time = at if isinstance(at, str) else at.isoformat()
    told = {"nominalStartTime": start and start.isoformat(), "nominalEndTime": end and end.isoformat()}
    run_facets = {"nominalTime": facet(**told)} if start else {}
    return run_event(type_, next(RUNS), job, inputs, outputs, at=time, run_facets=run_facets, **more)


class Lake:
    """A database with events, and its drafts."""

    def __init__(self, client: Client, database: Database, run: Any) -> None:
        self.client, self.database, self.run = client, database, run

    def send(self, *events: dict[str, Any]) -> None:
        accepted = self.run(Intake(self.database).accept_batch(json.dumps(events).encode()))
        assert accepted.refused == [], accepted.refused[:1]

    def declare(self, text: str) -> None:
        self.run(apply(self.database, [File("entities.yaml", text)], "tests"))

    def drafts(self, **asked: Any) -> Any:
        answer = self.client.get("/api/v2/entity-drafts", **asked)
        assert answer.status_code == 200, answer.text
        return answer.json()


def told(answer: Any) -> str:
    """All of an answer as a file of a case holds it."""
    lines = [f"# skipped: {each['dataset']}: {each['why']}" for each in answer["skipped"]]
    lines += [
        f"# excluded: {each['job']}: {each['why']}; reads {each['reads']}, writes {each['writes']}"
        for each in answer["excluded"]
    ]
    return "---\n".join(each["yaml"] for each in answer["drafts"]) + "".join(f"{line}\n" for line in lines)


def check(lake: Lake, case: str, **asked: Any) -> Declaration:
    """The drafts are those of the case's file, twice the same, and make sense as they stand."""
    found = told(lake.drafts(**asked))
    assert found == told(lake.drafts(**asked))
    path = CASES / f"{case}.yaml"
    assert found == path.read_text()
    return gathered([(path.name, found)])


@pytest.fixture
def lake(client: Client, database: Database, run: Any) -> Lake:
    return Lake(client, database, run)


def intervals(period: dict[str, str], count: int) -> list[tuple[dt.datetime, dt.datetime]]:
    has = Instances.of(period)
    assert has.first is not None
    return [has.calendar.interval(has.first + one) for one in range(count)]


def test_hours_days_weeks_and_months_across_a_change_of_clocks(lake: Lake) -> None:
    hour = {"every": "hour", "from": "2024-03-20T00:00:00Z"}
    airflow = {"jobType": facet(processingType="BATCH", integration="AIRFLOW", jobType="TASK")}
    described = {
        "documentation": facet(description="Which words were read: all of them."),
        "ownership": facet(owners=[{"name": "ann", "type": "OWNER"}]),
        "tags": facet(tags=[{"key": "team", "value": "data-eng", "source": "x"}, {"key": "pii", "source": "x"}]),
    }
    events = [
        one_run("collect", [], [table("lake.raw.clicks", start.strftime("%Y-%m-%dT%H"))], end, start, end)
        for start, end in intervals(hour, 60)
    ]
    for start, end in intervals({"every": "day", "tz": "Europe/Paris", "from": "2024-03-20"}, 24):
        hours = [
            (start.astimezone(dt.UTC) + dt.timedelta(hours=one)).strftime("%Y-%m-%dT%H")
            for one in range(int((end - start) / dt.timedelta(hours=1)))
        ]
        output = table("lake.marts.reads", str(start.date()), **described)
        events.append(
            one_run(
                "reads_daily.compute",
                [table("lake.raw.clicks", *hours)],
                [output],
                end + dt.timedelta(hours=1),
                start,
                end,
                namespace="prod",
                job_facets=airflow,
            )
        )
    for start, end in intervals({"every": "week", "tz": "Europe/Paris", "from": "2024-03-25"}, 3):
        events.append(
            one_run(
                "weekly",
                [table("lake.marts.reads", *days(str(start.date()), 7))],
                [table("lake.marts.weekly reads", str(start.date()))],
                end + dt.timedelta(hours=3),
                start,
                end,
            )
        )
    for start, end in intervals({"every": "month", "from": "2024-01-01"}, 4):
        events.append(one_run("monthly", [table("lake.marts.reads")], [table("lake.marts.month")], end, start, end))
    lake.send(*events)
    check(lake, "across_clocks")
    assert lake.drafts(limit=1)["more"] == 3
    assert lake.drafts(namespace="elsewhere")["drafts"] == []
    # Two steps up from the week: its days, and their hours; one step down from these.
    some = lake.drafts(node="dataset:warehouse:lake.marts.weekly reads", depth=1)
    assert [each["entity"] for each in some["drafts"]] == ["reads", "weekly_reads"]
    assert lake.client.get("/api/v2/entity-drafts", node="job:test:weekly").status_code == 400
    assert lake.client.get("/api/v2/entity-drafts", node="dataset:warehouse:nothing").status_code == 404
    assert lake.client.get("/api/v2/entity-drafts", limit=0).status_code == 400


def test_windows_snapshots_and_the_newest(lake: Lake) -> None:
    events = []
    every = intervals({"every": "day", "from": "2024-01-01"}, 70)
    for start, end in every:
        events.append(one_run("load", [], [table("db.reads", str(start.date()))], end, start, end))
    for start, end in intervals({"every": "month", "from": "2023-11-01"}, 4):
        events.append(one_run("prices", [], [table("db.prices", f"{start:%Y-%m}")], end, start, end))
    for nth, (start, end) in enumerate(every):
        at, today = end + dt.timedelta(hours=2), str(start.date())
        back = days(str(start.date() - dt.timedelta(min(nth, 29))), min(nth, 29) + 1)
        newest = f"{(end.replace(day=1) - dt.timedelta(1)):%Y-%m}"
        events.append(one_run("month", [table("db.reads", *back)], [table("db.last_month", today)], at, start, end))
        if nth % 3 == 0 or nth > 60:
            whole = days("2024-01-01", nth + 1)
            events.append(one_run("all", [table("db.reads", *whole)], [table("db.users", today)], at, start, end))
        if 2 <= nth < 40:
            yesterday = table("db.worth", str(start.date() - dt.timedelta(1)))
            read = [table("db.reads", today), table("db.prices", newest), yesterday]
            events.append(one_run("worth", read, [table("db.worth", today)], at, start, end))
    lake.send(*events)
    check(lake, "windows")


def test_ad_hoc_jobs_are_no_evidence(lake: Lake) -> None:
    events = []
    for start, end in intervals({"every": "day", "from": "2024-01-01"}, 10):
        events.append(one_run("load", [table("s3.raw")], [table("db.reads", str(start.date()))], end, start, end))
        events.append(one_run("look", [table("db.reads")], [table("db.mine")], end, start, end))
        # Each needs the other, for an unknown day.
        events.append(one_run("a", [table("db.b"), table("db.reads")], [table("db.a")], end, start, end))
        seldom = [table("db.reads")] if start.day == 5 else []
        events.append(one_run("b", [table("db.a"), *seldom], [table("db.b")], end, start, end))
    recurrence = facet(**{"class": "ad_hoc", "executions": 10, "missing": 0, "unexpected": 0, "confidence": 1.0})
    events.append(one_run("look", [], [], "2024-01-20T00:00:00Z", job_facets={"headwater_recurrence": recurrence}))
    events.append(one_run("once", [table("db.reads")], [table("db.a"), table("db.list")], "2024-01-20T00:00:00Z"))
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    for hours in (0, 1, 50, 51, 52, 300):
        events.append(one_run("when", [], [table("db.odd")], start + dt.timedelta(hours=hours)))
    events += [one_run("fails", [], [table("db.never")], "2024-01-02T00:00:00Z", type_="FAIL") for _ in range(5)]
    lake.send(*events)
    check(lake, "ad_hoc")


def test_dated_names_and_the_cadence(lake: Lake) -> None:
    events = []
    for nth, day in enumerate(days("2024-02-01", 20)):
        at = dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC) + dt.timedelta(days=1, hours=5, minutes=nth % 7)
        dated = table(f"exports/words/{day}", namespace="s3://lake")
        events.append(one_run("export", [], [dated], at))
        events.append(
            one_run("words", [dated], [table(f"db.words_{day.replace('-', '')}")], at + dt.timedelta(hours=1))
        )
        events.append(one_run("refresh", [table("db.words")], [table("db.counts")], at + dt.timedelta(hours=2)))
        # At six, for a day that is called by its date.
        start = dt.datetime.fromisoformat(day).replace(hour=6, tzinfo=dt.UTC)
        events.append(one_run("six", [], [table("db.six", day)], at, start, start + dt.timedelta(1)))
        events.append(one_run("business", [], [table("db.business")], at, start, start + dt.timedelta(1)))
    lake.send(*events)
    check(lake, "dated_names")


def test_what_is_declared_is_not_drafted_but_needed(lake: Lake) -> None:
    lake.declare(
        "entity: reads_of_all\nperiod: {every: day, tz: Europe/Paris, from: 2024-01-01}\nstored_in: warehouse db.reads\n"
        "---\nentity: sites\nkind: static\nstored_in: warehouse db.sites\n"
        "---\nentity: report\nperiod: day\n"
    )
    events = []
    # Only winter was observed: without other entities cut in Paris, the zone of this midnight would be unknown.
    for start, end in intervals({"every": "week", "tz": "Europe/Berlin", "from": "2024-01-01"}, 9):
        read = [table("db.reads", *days(str(start.date()), 7)), table("db.sites")]
        events.append(one_run("weekly", read, [table("db.report")], end, start, end))
        events.append(one_run("load", [], [table("db.reads", *days(str(start.date()), 7))], end, start, end))
    lake.send(*events)
    assert lake.drafts(namespace="file")["declared"] == 0
    answer = lake.drafts()
    assert (answer["declared"], [each["dataset"] for each in answer["drafts"]]) == (1, ["dataset:warehouse:db.report"])
    assert told(answer) == (CASES / "declared.yaml").read_text()


# Declarations and their drafts, each in the spelling of a draft.
PERIODS: list[dict[str, str]] = [
    {"every": "hour", "from": "2024-03-28T00:00:00Z"},
    {"every": "day", "from": "2024-03-01"},
    {"every": "day", "tz": "Europe/Paris", "from": "2024-03-01"},
    {"every": "day", "tz": "America/New_York", "from": "2024-03-01"},
    {"every": "week", "tz": "Europe/Paris", "from": "2024-01-01"},
    {"every": "week", "starts": "sunday", "from": "2024-01-07"},
    {"every": "month", "from": "2023-09-01"},
]
COUNTS = {"hour": 72, "day": 45, "week": 14, "month": 9}


def declared(seed: int) -> str:
    """A random graph of entities whose upstreams are in the same zone."""
    chosen = random.Random(seed)
    lines, made = [], list[tuple[str, dict[str, str]]]()
    for nth in range(chosen.randint(4, 7)):
        name, period = f"e{nth}", chosen.choice(PERIODS)
        unit, kind, needs = period["every"], "", list[str]()
        near = [
            each
            for each in made
            if each[1].get("tz") == period.get("tz") and each[1].get("starts") == period.get("starts")
        ]
        for upstream, theirs in chosen.sample(near, min(len(near), 2)):
            other = theirs["every"]
            if theirs == period and not kind:
                needs.append(chosen.choice([upstream, f"{upstream}: previous"]))
            elif (unit, other) == ("day", "hour") or (other == "day" and unit in {"week", "month"}):
                needs.append(f"{upstream}: all_{unit}")
        same = [upstream for upstream, theirs in near if theirs == period and unit == "day"]
        if same and chosen.random() < 0.6:
            kind = chosen.choice(["sliding", "snapshot"])
            needs = [chosen.choice(same)]
        lines.append(
            f"entity: {name}\nperiod: {json.dumps(period)}\nproduced_by: [test/make_{name}]\nstored_in: [warehouse db.{name}]\n"
        )
        lines[-1] += {"sliding": "kind: sliding\nwindow: 7 days\n", "snapshot": "kind: snapshot\n", "": ""}[kind]
        if needs:
            lines[-1] += "depends_on:\n" + "".join(f"- {need}\n" for need in dict.fromkeys(needs))
        made.append((name, period))
    return "---\n".join(lines)


def simulated(declaration: Declaration) -> list[dict[str, Any]]:
    """A run for each instance: what it is for, and which instances it read of what."""
    events = []
    for name, one in declaration.by_name.items():
        has = one.entity.instances
        assert has is not None
        assert has.first is not None
        for at in range(has.first, has.first + COUNTS[has.calendar.spec.unit]):
            read = []
            for link in declaration.graph.upstream(name):
                assert link.edge is not None
                used = link.edge.need(Ordinals.between(at, at + 1)) & link.edge.upstream.all
                if used:
                    theirs = link.edge.upstream.calendar
                    read.append(
                        table(f"db.{link.upstream}", *(_part(theirs, each) for each in used.members().tolist()))
                    )
                else:
                    read.append(table(f"db.{link.upstream}"))
            start, end = has.calendar.interval(at)
            output = table(f"db.{name}", keys.key(has.calendar, at).partition("/")[0])
            events.append(one_run(f"make_{name}", read, [output], end, start, end))
    return events


def _part(calendar: Any, ordinal: int) -> str:
    """A day by its date, an hour by its instant, as partitions are called."""
    return calendar.interval(ordinal)[0].isoformat() if calendar.spec.unit == "hour" else keys.key(calendar, ordinal)


@pytest.mark.parametrize("seed", range(full(4, 2)))
def test_what_was_declared_comes_back_from_its_runs(lake: Lake, seed: int) -> None:
    said = gathered([("declared.yaml", declared(seed))])
    events = simulated(said)
    random.Random(seed).shuffle(events)
    lake.send(*events)
    answer = lake.drafts()
    drafted = gathered([("drafts.yaml", told(answer))])
    assert (answer["skipped"], answer["excluded"]) == ([], [])
    assert {name: document(one) for name, one in drafted.by_name.items()} == {
        name: document(one) for name, one in said.by_name.items()
    }
