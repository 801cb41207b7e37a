"""Each event that a rule can watch, planted once in a month: it gives its alert, and no other event does."""

import datetime as dt
import json
from typing import Any

import pytest
from tests.api.alerts.test_rules_on_the_past import replayed
from tests.api.usage.measures import dataset as measured
from tests.api.usage.measures import job as log_job
from tests.api.usage.measures import send as send_events
from tests.api.usage.test_lineage_quality import day as quality_day
from tests.events import dataset, facet, run_event, schema

END = dt.datetime(2026, 11, 27, 6, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
EVENTS = (
    "failed", "late", "failed_check", "schema_changed", "first_seen", "gone", "used_again", "cost_jump", "slower", "coverage_dropped", "producer_silent",
)  # fmt: skip


def at(days: float) -> str:
    return (END - days * DAY).isoformat()


class Month:
    """Quiet events of 40 days before the end: a daily table, its reader and its producer."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._run = 0

    def ran(
        self,
        job: str,
        days: float,
        inputs: Any = (),
        outputs: Any = (),
        *,
        end: str = "COMPLETE",
        hours: float = 0.1,
        **more: Any,
    ) -> None:
        self._run += 1
        self.events.append(run_event("START", self._run, job, at=at(days), **more))
        self.events.append(
            run_event(end, self._run, job, list(inputs), list(outputs), at=at(days - hours / 24), **more)
        )

    def quiet(self, *, without: tuple[float, ...] = ()) -> "Month":
        for days in range(40, 0, -1):
            if days not in without:
                self.ran("daily", days, ["/in"], [dataset("mart.daily", "db", **schema("a"))])
        return self


def plant(event: str) -> tuple[list[dict[str, Any]], str]:
    """The events of a month with one incident of a kind, and the label that its alert has."""
    month = Month()
    if event == "late":
        month.quiet(without=(10.0,)).ran("filler", 10)
        return month.events, "daily"
    if event == "producer_silent":
        month.quiet()
        for days in range(40, 0, -1):
            if days != 10:
                one = run_event("COMPLETE", 5000 + days, f"other-{days % 2}", at=at(days))
                month.events.append(one | {"producer": "https://other.test/tool/1.0"})
        return month.events, "https://other.test/tool/1.0"
    month.quiet()
    if event == "failed":
        month.ran("weekly", 20, end="COMPLETE")
        month.ran("weekly", 13, end="FAIL")
        month.ran("weekly", 6, end="FAIL")
        return month.events, "weekly"
    if event == "failed_check":
        checked = dataset("mart.daily", "db")
        for days, success in ((12, True), (11, False), (10, False), (9, True)):
            facets = {
                "dataQualityAssertions": facet(
                    assertions=[{"assertion": "not_null", "success": success, "column": "a"}]
                )
            }
            month.ran("check", days, [checked | {"inputFacets": facets}])
        return month.events, "daily"
    if event == "schema_changed":
        month.ran("daily", 0.5, ["/in"], [dataset("mart.daily", "db", **schema("a", "b"))])
        return month.events, "daily"
    if event == "first_seen":
        month.ran("new", 5, [], [dataset("mart.new", "db")])
        return month.events, "new"
    if event == "gone":
        month.ran("old", 39, [], [dataset("mart.old", "db")])
        change = facet(lifecycleStateChange="DROP")
        month.ran("old", 5, [], [dataset("mart.old", "db", lifecycleStateChange=change)])
        return month.events, "old"
    if event == "used_again":
        month.ran("report", 50, [dataset("mart.daily", "db")])
        month.ran("report", 3, [dataset("mart.daily", "db")])
        return month.events, "daily"
    if event == "cost_jump":
        prices = ((20, 10.0), (15, 11.0), (10, 30.0), (5, 31.0))
        return month.events + [
            measured("db.sales", at=at(days), cost={"grain": "table", "executions": 5, "money": money})
            for days, money in prices
        ], "sales"
    if event == "slower":
        for days in range(39, 0, -1):
            month.ran("heavy", days, hours=1.0 if days > 15 else 3.0)
        return month.events, "heavy"
    good, bad = (90, 10), (50, 50)
    days = [quality_day(number, *(bad if number in {19, 20} else good)) for number in range(10, 24)]
    return [*month.events, log_job("query-log", at=at(1), quality={"days": days})], "snowflake://acme-eu"


@pytest.mark.parametrize("event", EVENTS)
def test_an_incident_gives_its_alert_and_no_other(client: Any, event: str) -> None:
    events, label = plant(event)
    send_events(client, *events)
    text = "rules:\n" + "".join(f"  - {{name: {one}, when: {one}, to: o@p.q}}\n" for one in EVENTS)
    found = replayed(client, text, END - 28 * DAY, END)["alerts"]
    told = [(one["event"], one["label"]) for one in found]
    # A new table is one of these incidents; what comes with another incident and is new itself is left out.
    others = [one for one in told if not (one[0] == "first_seen" and event in {"cost_jump"})]
    assert others == [(event, label)], json.dumps(found, indent=1)[:3000]


@pytest.mark.parametrize("side", ["outputs", "inputs"])
def test_a_schema_that_comes_back_is_a_change_too(client: Any, side: str) -> None:
    """Another schema for a day; the next run, of a job that writes the table or only reads it, reports the old one again."""
    month = Month()
    for days in range(30, 0, -1):
        columns = ("a", "b") if days == 5 else ("a",)
        month.ran("daily", days, **{side: [dataset("mart.daily", "db", **schema(*columns))]})
    send_events(client, *month.events)
    found = replayed(client, "rules:\n  - {name: s, when: schema_changed, to: o@p.q}\n", END - 28 * DAY, END)["alerts"]
    members = [(each["since"][:10], each["text"]) for one in found for each in one["members"]]
    assert sorted(members) == [(at(5)[:10], "b added"), (at(4)[:10], "b dropped")], json.dumps(found, indent=1)[:3000]


@pytest.mark.parametrize(
    ("words", "hours"),
    [("by: 07:00", [10 * 24 - 1]), ("by: 05:00", [9 * 24 + 1]), ("within: 30h", [10 * 24 - 6]), ("within: 3 days", [])],
)
def test_a_declared_deadline(client: Any, words: str, hours: list[int]) -> None:
    """The table is updated at 06:06 each day but the tenth before the end. It is late from the deadline on: so many hours before the end."""
    send_events(client, *Month().quiet(without=(10.0,)).events)
    text = f"rules:\n  - {{name: sla, when: late, of: mart.daily, to: o@p.q, {words}}}\n"
    found = replayed(client, text, END - 28 * DAY, END)["alerts"]
    # It was late by its rhythm before some of these deadlines: that is the cause, and the deadline what it tells.
    since = [dt.datetime.fromisoformat(each["since"]) for one in found for each in one["members"]]
    assert [round((END - at) / dt.timedelta(hours=1)) for at in since] == hours
