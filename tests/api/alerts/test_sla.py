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
    fresh = [one for one in weeks if one["rule"] == "fresh"]
    assert sum(one["missed"] for one in fresh) <= 1
