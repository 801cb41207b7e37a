"""The flights example as entities over 2013: ten wrong hours of weather, and exactly the days, weeks and months that they reach. No Spark, no server."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from flights_example import EXAMPLE
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.entities.declaration.whole import Declaration, gathered
from headwater.entities.status.taint import suspects, tainted
from headwater.entities.time import ranges

FILE = EXAMPLE / "entities.yaml"
NEW_YORK = ZoneInfo("America/New_York")
LAST = dt.datetime(2014, 1, 1, tzinfo=NEW_YORK)


@pytest.fixture(scope="module")
def declared() -> Declaration:
    return gathered([("entities.yaml", FILE.read_bytes())])


def reached(declared: Declaration, hours: str) -> dict[str, list[str]]:
    graph = declared.graph
    wrong = ranges.read(graph.entities["weather"].instances, [hours])
    assert wrong.count == 10
    hits = tainted(graph, {"weather": wrong}).hits
    return {name: ranges.written(graph.entities[name].instances, hit.instances) for name, hit in hits.items()}


@pytest.mark.parametrize(
    ("hours", "days", "delays", "weeks", "months"),
    [
        # An ordinary day, from midnight: what leaves at midnight was told by the hour before.
        ("2013-07-04T00-04:00..2013-07-04T09-04:00", "2013-07-04", "2013-07-04", "2013-W27", "2013-07"),
        # Its last ten hours, of which the next day's first departures knew the last one.
        ("2013-07-04T14-04:00..2013-07-04T23-04:00", "2013-07-04", "2013-07-04..2013-07-05", "2013-W27", "2013-07"),
        # Into the day of 23 hours, over the hour that is not there.
        ("2013-03-09T20-05:00..2013-03-10T06-04:00", *2 * ("2013-03-09..2013-03-10",), "2013-W10", "2013-03"),
        # Out of it, from its Sunday into another week.
        ("2013-03-10T15-04:00..2013-03-11T00-04:00", *2 * ("2013-03-10..2013-03-11",), "2013-W10..2013-W11", "2013-03"),
        # Within the day of 25 hours, both hours called one o'clock among them.
        ("2013-11-03T00-04:00..2013-11-03T08-05:00", "2013-11-03", "2013-11-03", "2013-W44", "2013-11"),
        # Its last ten hours are the last of a week, which Monday's first delays are of another one than.
        ("2013-11-03T14-05:00..2013-11-03T23-05:00", "2013-11-03", "2013-11-03..2013-11-04", "2013-W44", "2013-11"),
        # Over the end of a month, within a week.
        ("2013-10-31T20-04:00..2013-11-01T05-04:00", *2 * ("2013-10-31..2013-11-01",), "2013-W44", "2013-10..2013-11"),
        # The first and the last hours there are; the weeks of the year's ends are not whole and there are none.
        ("2013-01-01T00-05:00..2013-01-01T09-05:00", "2013-01-01", "2013-01-01", None, "2013-01"),
        ("2013-12-31T14-05:00..2013-12-31T23-05:00", "2013-12-31", "2013-12-31", None, "2013-12"),
    ],
)
def test_ten_wrong_hours(
    declared: Declaration, hours: str, days: str, delays: str, weeks: str | None, months: str
) -> None:
    expected = {"weather": [hours], "flights": [days], "delays": [delays], "monthly_traffic": [months]}
    assert reached(declared, hours) == expected | ({"weekly_traffic": [weeks]} if weeks else {})


def test_any_ten_hours_of_the_year_by_the_clock(declared: Declaration) -> None:
    """Every tenth stretch of ten hours, against dates that the standard library tells."""
    weather = declared.graph.entities["weather"].instances
    assert weather is not None
    for first in range(weather.all.first, weather.all.end - 9, 10):
        hours = [weather.calendar.interval(first + more)[0] for more in range(10)]
        days = {hour.astimezone(NEW_YORK).date() for hour in hours}
        told = {(hour.astimezone(dt.UTC) + dt.timedelta(hours=1)).astimezone(NEW_YORK) for hour in hours}
        delays = days | {hour.date() for hour in told if hour < LAST}
        weeks = {
            f"2013-W{day.isocalendar().week:02}" for day in days if dt.date(2013, 1, 7) <= day < dt.date(2013, 12, 30)
        }
        expected = {
            "flights": sorted(map(str, days)),
            "delays": sorted(map(str, delays)),
            "weekly_traffic": sorted(weeks),
            "monthly_traffic": sorted({str(day)[:7] for day in days}),
        }
        (text,) = ranges.written(weather, ranges.read(weather, [f"{_key(hours[0])}..{_key(hours[-1])}"]))
        found = {
            name: [end for text in texts for end in text.split("..")] for name, texts in reached(declared, text).items()
        }
        assert {name: found.get(name, []) for name in expected} == expected, text


def test_what_may_have_made_a_week_wrong(declared: Declaration) -> None:
    graph = declared.graph
    week = ranges.read(graph.entities["weekly_traffic"].instances, ["2013-W10"])
    hits = suspects(graph, {"weekly_traffic": week}).hits
    # A week with a Sunday of 23 hours.
    assert {name: hit.instances.count for name, hit in hits.items()} == {
        "weekly_traffic": 1,
        "flights": 7,
        "weather": 167,
    }


def test_the_declaration_is_checked() -> None:
    done = CliRunner().invoke(program, ["entities", "check", str(FILE), "--as-of", "2014-01-02"])
    assert done.exit_code == 0, done.output
    assert "5 entities, 5 dependencies, 0 warnings" in done.output


def _key(hour: dt.datetime) -> str:
    local = hour.astimezone(NEW_YORK).isoformat()
    return local[:13] + local[-6:]
