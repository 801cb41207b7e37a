"""Deadlines that rules declare, by week: as often due as there were deadlines, and missed as often as data was not there."""

import datetime as dt
from typing import Any

from tests.api.alerts.test_alert_messages import BY
from tests.events import dataset, encoded, run_event

from headwater.entities.alerts.rules import RuleFile
from headwater.intake.alerts import rules
from headwater.intake.events.accept import Intake
from headwater.store.database import Database

NOW = dt.datetime.now(dt.UTC)
RULES = """
rules:
  - {name: by noon, when: late, of: "mart.*", by: "12:00", to: o@p.q}
  - {name: fresh, when: late, of: mart.good, within: 25h, to: o@p.q}
"""


def test_deadlines_by_week(client: Any, database: Database, run: Any) -> None:
    noon = NOW.replace(hour=11, minute=0, second=0, microsecond=0)
    days = [noon - dt.timedelta(days=days) for days in range(30, 0, -1)]
    skipped = {days[-3], days[-4]}
    for number, at in enumerate(days):
        outputs = [dataset("mart.good", "db"), *([] if at in skipped else [dataset("mart.bad", "db")])]
        event = run_event("COMPLETE", number, "load", [], outputs, at=at.isoformat())
        run(Intake(database).accept(encoded(event)))
    run(rules.apply_rules(database, [RuleFile("a.yaml", RULES)], by=BY))
    since = (NOW - dt.timedelta(days=15)).isoformat()
    weeks = client.get("/api/v2/rules/sla", since=since).json()["weeks"]
    noon_weeks = [one for one in weeks if one["rule"] == "by noon"]
    assert sum(one["missed"] for one in noon_weeks) in {2, 4}, "today's noon may be over, which both missed"
    assert {name for one in noon_weeks for name in one["datasets"]} >= {"bad"}
    assert sum(one["due"] for one in noon_weeks) in {28, 30, 32}
    assert all(one["share"] == round(1 - one["missed"] / one["due"], 4) for one in noon_weeks)
    assert all(one["whole"] == one["deadlines"] - one["missed"] or one["missed"] > 2 for one in noon_weeks)
    assert all((one["goal"], one["kept"]) == (None, None) for one in weeks)
    fresh = [one for one in weeks if one["rule"] == "fresh"]
    assert sum(one["missed"] for one in fresh) <= 1


SLAS = """
slas:
  - {name: funnel, of: "product:funnel", by: "12:00", goal: 90%}
  - {name: gold, of: "tag:tier:gold", except: "mart.*d", within: 25h}
rules:
  - {name: tell, when: late, sla: funnel, to: o@p.q}
"""


def test_slas_of_a_product_and_of_a_tag(client: Any, people: Any, database: Database, run: Any) -> None:
    """A product is whole at a deadline if all of its datasets are there; its rule is the SLA's own, and not listed twice."""
    noon = NOW.replace(hour=11, minute=0, second=0, microsecond=0)
    days = [noon - dt.timedelta(days=days) for days in range(30, 0, -1)]
    gaps = {
        "mart.good": set(),
        "mart.bad": {days[-9], days[-8]},
        "mart.worse": {days[-8], days[-7]},
        "mart.other": set(days[-12:-1]),
    }
    for number, at in enumerate(days):
        outputs = [dataset(name, "db") for name, missing in gaps.items() if at not in missing]
        event = run_event("COMPLETE", number, "load", [], outputs, at=at.isoformat())
        run(Intake(database).accept(encoded(event)))
    for name in gaps:
        tag, value = ("tier", "gold") if name == "mart.other" else ("product", "funnel")
        assert people.put("datasets", "db", name, "tags", tag, body={"value": value}).status_code == 200
    applied = run(rules.apply_rules(database, [RuleFile("a.yaml", SLAS)], by=BY))
    assert (applied.rules, applied.slas) == (1, 2)
    held = client.get("/api/v2/rules").json()
    assert [(one["name"], one["of"], one["but"], one["deadline"], one["goal"]) for one in held["slas"]] == [
        ("funnel", ["product:funnel"], [], "12:00 UTC", 0.9),
        ("gold", ["tag:tier:gold"], ["mart.*d"], "within 1 day, 1:00:00", None),
    ]
    since = (noon - dt.timedelta(days=12, hours=1)).isoformat()

    def weeks(name: str, **of: str) -> list[Any]:
        return [
            one for one in client.get("/api/v2/rules/sla", since=since, **of).json()["weeks"] if one["rule"] == name
        ]

    def count(some: list[Any], word: str) -> int:
        return sum(one[word] for one in some)

    funnel = weeks("funnel")
    today = 3 * (NOW.hour >= 12)  # today's noon may be over, which all three missed
    assert (count(funnel, "missed"), count(funnel, "due")) == (4 + today, 36 + today)
    assert count(funnel, "deadlines") - count(funnel, "whole") == 3 + today // 3
    assert all(one["kept"] == (one["share"] >= 0.9) for one in funnel)
    assert {one["kept"] for one in funnel} >= {False}
    bad = weeks("funnel", of="dataset:db:mart.bad")
    assert (count(bad, "missed"), count(bad, "due")) == (2 + today // 3, 12 + today // 3)
    assert weeks("funnel", of="tag:tier:gold") == []
    gold = weeks("gold")
    assert count(gold, "missed") >= 1
    assert {name for one in gold for name in one["datasets"]} == {"other"}
    assert all(one["whole"] is None for one in gold)
    assert weeks("tell") == []
    assert client.get("/api/v2/rules/sla", of="product:").status_code == 400
    odd = client.get(
        "/api/v2/rules/sla", of="dataset:file:a\u202eb"
    )  # no selector has such characters, and names of datasets do
    assert (odd.status_code, odd.json()["weeks"]) == (200, [])
