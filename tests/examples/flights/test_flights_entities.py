"""The flights example as entities over 2013: ten wrong hours of weather, and exactly the days, weeks and months that they reach. No Spark, no server."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from flights_example import EXAMPLE, order
from typer.testing import CliRunner

from headwater.cli.program import program
from headwater.entities.declaration.whole import Declaration, gathered
from headwater.entities.status.taint import suspects, tainted
from headwater.entities.time import ranges
from headwater.runner.entities import package_entities

FILE = EXAMPLE / "entities.yaml"
NEW_YORK = ZoneInfo("America/New_York")
LAST = dt.datetime(2014, 1, 1, tzinfo=NEW_YORK)


@pytest.fixture(scope="module")
def declared() -> Declaration:
    return gathered([("entities.yaml", FILE.read_bytes())])


def reached(declared: Declaration, hours: str) -> dict[str, list[str]]:
    """Instances that ten wrong hours of reports make wrong, of entities that have periods."""
    graph = declared.graph
    wrong = ranges.read(graph.entities["weather_reports"].instances, [hours])
    assert wrong.count == 10
    hits = tainted(graph, {"weather_reports": wrong}).hits
    assert {"delay_features", "carrier_scorecard", "report"} < hits.keys()
    return {
        name: ranges.written(instances, hit.instances)
        for name, hit in hits.items()
        if (instances := graph.entities[name].instances) is not None
    }


@pytest.mark.parametrize(
    ("hours", "weather", "days", "weeks", "months"),
    [
        # An ordinary day, from midnight. The weather of an hour without a report is that of up to three hours before.
        ("2013-07-04T00-04:00..2013-07-04T09-04:00", "2013-07-04T12-04:00", "2013-07-04", "2013-W27", "2013-07..2013-08"),
        # Its last ten hours, which the next morning may have been filled with.
        (
            "2013-07-04T14-04:00..2013-07-04T23-04:00", "2013-07-05T02-04:00",
            "2013-07-04..2013-07-05", "2013-W27", "2013-07..2013-08",
        ),
        # Into the day of 23 hours, over the hour that is not there.
        (
            "2013-03-09T20-05:00..2013-03-10T06-04:00", "2013-03-10T09-04:00",
            "2013-03-09..2013-03-10", "2013-W10", "2013-03..2013-04",
        ),
        # Out of it, from its Sunday into another week.
        (
            "2013-03-10T15-04:00..2013-03-11T00-04:00", "2013-03-11T03-04:00",
            "2013-03-10..2013-03-11", "2013-W10..2013-W11", "2013-03..2013-04",
        ),
        # Within the day of 25 hours, both hours called one o'clock among them.
        ("2013-11-03T00-04:00..2013-11-03T08-05:00", "2013-11-03T11-05:00", "2013-11-03", "2013-W44", "2013-11..2013-12"),
        # Over the end of a month, within a week.
        (
            "2013-10-31T20-04:00..2013-11-01T05-04:00", "2013-11-01T08-04:00",
            "2013-10-31..2013-11-01", "2013-W44", "2013-10..2013-12",
        ),
        # The first and the last hours there are, in the weeks that the turn of the year cuts.
        ("2013-01-01T00-05:00..2013-01-01T09-05:00", "2013-01-01T12-05:00", "2013-01-01", "2013-W01", "2013-01..2013-02"),
        ("2013-12-31T14-05:00..2013-12-31T23-05:00", "2013-12-31T23-05:00", "2013-12-31", "2014-W01", "2013-12"),
    ],
)  # fmt: skip
def test_ten_wrong_hours(declared: Declaration, hours: str, weather: str, days: str, weeks: str, months: str) -> None:
    assert reached(declared, hours) == {
        "weather_reports": [hours],
        "weather": [f"{hours.partition('..')[0]}..{weather}"],
        **{key: [days] for key in ("flights", "hourly_traffic", "daily_traffic")},
        "weekly_traffic": [weeks],
        "monthly_traffic": [months],
    }


def test_any_ten_hours_of_the_year_by_the_clock(declared: Declaration) -> None:
    """Every tenth stretch of ten hours, against dates that the standard library tells."""
    reports = declared.graph.entities["weather_reports"].instances
    assert reports is not None
    for first in range(reports.all.first, reports.all.end - 9, 10):
        began = reports.calendar.interval(first)[0]
        filled = [began.astimezone(dt.UTC) + dt.timedelta(hours=more) for more in range(13)]
        days = {hour.astimezone(NEW_YORK).date() for hour in filled if hour < LAST}
        months = {day.replace(day=1) for day in days}
        months |= {(month + dt.timedelta(days=31)).replace(day=1) for month in months}
        expected = {
            "flights": sorted(map(str, days)),
            "weekly_traffic": sorted({f"{day:%G-W%V}" for day in days}),
            "monthly_traffic": sorted(str(month)[:7] for month in months if month.year == 2013),
        }
        hours = ranges.written(reports, ranges.read(reports, [f"{_key(began)}..{_key(filled[9])}"]))[0]
        found = reached(declared, hours)
        for name, all_of_them in expected.items():
            assert found[name] == ["..".join(dict.fromkeys((all_of_them[0], all_of_them[-1])))], (name, hours)


def test_what_may_have_made_a_week_wrong(declared: Declaration) -> None:
    graph = declared.graph
    week = ranges.read(graph.entities["weekly_traffic"].instances, ["2013-W10"])
    hits = suspects(graph, {"weekly_traffic": week}).hits
    # A week with a Sunday of 23 hours, whose first ones may have been filled from the Sunday before.
    assert {name: hit.instances.count for name, hit in hits.items()} == {
        "weekly_traffic": 1,
        "daily_traffic": 7,
        "hourly_traffic": 7,
        "flights": 7,
        "departures": 7,
        "weather": 167,
        "weather_reports": 170,
        "reference": 1,
    }


def test_the_declaration_is_checked() -> None:
    done = CliRunner().invoke(program, ["entities", "check", str(FILE), "--as-of", "2014-01-10"])
    assert done.exit_code == 0, done.output
    assert "12 entities, 19 dependencies, 0 warnings" in done.output


def test_each_package_says_which_it_makes() -> None:
    made = {package_entities(EXAMPLE / folder / "dk.yaml").entities for folder in order() if folder != "raw_zone"}
    names = {line.split()[1] for line in FILE.read_text().splitlines() if line.startswith("entity:")}
    assert made == {(name,) for name in names}
    assert not {"produced_by", "stored_in"} & set(FILE.read_text().replace(":", " ").split())


def _key(hour: dt.datetime) -> str:
    local = hour.astimezone(NEW_YORK).isoformat()
    return local[:13] + local[-6:]
