"""Ten wrong hours of weather on the data of the demo: what is wrong because of them, made again by the example's own packages, and nothing else.

The example checks itself what is written. `make soak` runs it; the suite follows a mistake in the tutorial.
"""

import json
from typing import Any

import pytest
from tests.fixtures.demo import Demo

from headwater.client.ask import ask

pytestmark = [pytest.mark.spark, pytest.mark.soak]

MARCH = """
  weather_reports    10  2013-03-09T19-05:00..2013-03-10T05-04:00
  weather            13  2013-03-09T19-05:00..2013-03-10T08-04:00
  flights             2  2013-03-09..2013-03-10
  hourly_traffic      2  2013-03-09..2013-03-10
  daily_traffic       2  2013-03-09..2013-03-10
  weekly_traffic      1  2013-W10
  monthly_traffic     2  2013-03..2013-04
  delay_features      1  static
  carrier_scorecard   1  static
  report              1  static
"""


def answer(demo: Demo, path: str, **question: Any) -> Any:
    return json.loads(ask(demo.url, f"/api/v2/{path}", question))


def test_the_story_is_true(repaired: str) -> None:
    """On the day of 23 hours; the whole story follows the mistake, and then its correction."""
    march, _, _ = repaired.partition("november:")
    for line in MARCH.strip("\n").splitlines():
        assert march.count(f"{line}\n") == 2, f"{line}\n{march}"
    assert repaired.count("nothing is wrong any more") == repaired.count("Written again") >= 2
    assert repaired.count("Every row is again as it was before the mistake.") == 2
    changed = next(line for line in repaired.splitlines() if line.startswith("Other rows than before"))
    assert "enriched/flights/flight_date=2013-03-10" in changed
    assert "marts/weekly_traffic" not in changed, "nothing in a week says how far one could see"


def test_the_plans_are_done_and_the_days_are_whole(repaired: str, demo: Demo) -> None:
    assert {plan["state"] for plan in answer(demo, "plans")["plans"]} == {"done"}
    days = answer(demo, "entities/weather/status", instances=["2013-03-10", "2013-11-03"])
    assert days["counts"] == {"completed": 48}
    assert "yes: it may be used" in demo.run("status", "weekly_traffic@2013-W10").stdout
