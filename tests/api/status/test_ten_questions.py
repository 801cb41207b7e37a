"""The ten questions of README on one world, as they are printed there, against a real server: each command gives the answer that is true of it."""

import datetime as dt
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.api.plans.backfilled import Place
from tests.api.usage.measures import dataset as measured
from tests.events import RUN, columns, dataset, run_event, schema

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
LAST_WEEK = (NOW - dt.timedelta(days=7)).strftime("%G-W%V")
SCHEDULES = """
entity: reads
period: {every: day, from: 2024-01-01}
produced_by: [package:reads]
owner: ada
---
entity: weekly_traffic
period: {every: week, from: 2024-01-01}
depends_on: {reads: same}
produced_by: [package:weekly_traffic]
"""
ANSWERS: dict[str, list[str]] = {
    "Where does this come from, and who depends on it?": [
        "index.html",
        "publish",
        "daily_traffic",
        "daily",
        "meters_202101.csv.gz",
    ],
    "What feeds this column?": ["arr_delay_sum", "delay", "meters_202101.csv.gz"],
    "What did this run read and write, in which versions?": ["meters_202101.csv.gz", "daily_traffic", "(by time)"],
    "What became of this file?": ["meters_202101.csv.gz", "daily_traffic", "publish", "index.html"],
    "What needs me now, and what is its cause?": ["failed", "nightly", "last year's rates"],
    "Is it there, fresh and complete?": ["daily_traffic", LAST_WEEK, "completed", "missing"],
    "What changed since yesterday?": ["nightly", "lost"],
    "This run, file, version or day is wrong: who used it?": ["2024-03-06", "weekly_traffic", "2024-W10"],
    "What has to run again, in which order?": ["package:reads", "package:weekly_traffic"],
    "Who uses it, what does it cost, may it go?": ["ann", "1.50", "no job has read it", "saves 4.00 a month"],
}
QUESTIONS: dict[str, list[str]] = {
    question: re.findall(r"`(headwater [^`]+)`", told)
    for question, told in re.findall(r"^\| ([A-Z][^|]*\?) \| (.*) \|$", README, re.MULTILINE)
}


def ago(hours: float) -> str:
    return (NOW - dt.timedelta(hours=hours)).isoformat()


@pytest.fixture
def place(server_url: str, tmp_path: Path) -> Place:
    """A delivered file, a table with its columns, a report; days and a week of it; a failed run; what a warehouse measured; and an incident."""
    found = Place(server_url, tmp_path)
    found.declare(SCHEDULES)
    file = dataset("/landing/meters_202101.csv.gz", **schema("delay"))
    table = dataset(
        "/marts/daily_traffic",
        **schema("arr_delay_sum"),
        **columns({"arr_delay_sum": [("/landing/meters_202101.csv.gz", "delay", "DIRECT:AGGREGATION")]}),
    )
    events: list[dict[str, Any]] = [
        run_event("COMPLETE", 1, "daily", [file], [table], at=ago(60)),
        run_event("COMPLETE", 2, "publish", ["/marts/daily_traffic"], ["/report/index.html"], at=ago(59)),
        run_event("COMPLETE", 3, "nightly", ["/src"], ["/night"], at=ago(58)),
        run_event("FAIL", 4, "nightly", ["/src"], ["/lost"], at=ago(2)),
        measured("/marts/daily_traffic", namespace="file", usage={"reads": 12, "reads_by_people": 12, "status": "active", "top_readers": [{"actor": "ann", "kind": "person", "reads": 12}]}, cost={"money": 1.5, "executions": 2}),
        measured("/old", namespace="file", usage={"writes": 9, "status": "unread"}, pruning={"wave": 1, "reason": "no job has read it", "money_month": 4.0, "confidence": 0.9}),
    ]  # fmt: skip
    assert found.ask("POST", "/api/v1/lineage/batch", events)["summary"]["failed"] == 0
    found.say("reads", "2024-03-04..2024-03-10")
    found.say("weekly_traffic", "2024-W10", LAST_WEEK)
    return found


def test_each_question_of_readme_has_its_answer(place: Place) -> None:
    assert list(QUESTIONS) == list(ANSWERS)
    wrong = {"wrong": [{"entity": "reads", "instances": ["2024-03-05"]}], "reason": "last year's rates"}
    incident = str(place.ask("POST", "/api/v2/incidents", wrong)["id"])
    for question, commands in QUESTIONS.items():
        shown = ""
        for command in commands:
            told = place.headwater(*shlex.split(command.replace("INCIDENT", incident))[1:])
            assert told.exit_code == (3 if " repair " in command else 0), (command, told.output)
            shown += told.output
        missing = [each for each in ANSWERS[question] if each not in shown]
        assert not missing, (question, missing, shown)
    assert RUN.format(1) in QUESTIONS["What did this run read and write, in which versions?"][0]
    assert place.ask("GET", "/api/v2/incidents")["total"] == 1, "to ask is to change nothing"
