"""The flights example on all of its real data: nothing is lost, nothing is counted twice, and the clocks agree.

The demo runs the whole pipeline, as its `dk.yaml` files say. Then ten hours of weather are delivered anew, so some days are made again.
"""

import csv
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.fixtures.demo import Demo

# The demo itself, and the lineage of its columns, are in the suite: tests/acceptance/test_flights.py.
pytestmark = [pytest.mark.spark, pytest.mark.soak]

CASES = Path(__file__).parents[2] / "cases" / "flights"
FLIGHTS, OBSERVATIONS, CANCELLED, DIVERTED = 336_776, 26_115, 8_255, 1_175


class Lake(NamedTuple):
    """The data the pipeline left."""

    path: Path
    spark: Any

    def table(self, name: str) -> Any:
        return self.spark.read.parquet(str(self.path / name))

    def one(self, name: str, *expressions: str) -> Any:
        """The first row of a table reduced by SQL expressions."""
        return self.table(name).selectExpr(*expressions).first()


@pytest.fixture(scope="module")
def lake(demo: Demo, repaired: str, spark: Any) -> Lake:
    return Lake(demo.data, spark)


def test_the_raw_zone_has_every_row_of_the_source_under_its_own_day(lake: Lake):
    rows = 0
    for file in (lake.path / "raw/flights").glob("*/flights.csv"):
        with file.open(encoding="utf-8") as stream:
            days = [
                f"date={int(row['year'])}-{int(row['month']):02}-{int(row['day']):02}" for row in csv.DictReader(stream)
            ]
        assert set(days) == {file.parent.name}
        rows += len(days)
    assert rows == FLIGHTS


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("staged/flights", FLIGHTS),
        ("staged/weather", OBSERVATIONS),
        ("clean/flights", FLIGHTS),
        ("clean/rejected", 0),
        ("enriched/flights", FLIGHTS),
        ("features/departures", FLIGHTS - CANCELLED - DIVERTED),
        ("reference/airports", 1458 + 4),
        ("reference/airlines", 16),
        ("reference/planes", 3322),
    ],
)
def test_rows_are_conserved_though_two_days_were_made_again(lake: Lake, table: str, rows: int):
    assert lake.table(table).count() == rows


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("clean/flights", "flight_id"),
        ("enriched/flights", "flight_id"),
        ("features/departures", "flight_id"),
        ("clean/weather", "origin, hour"),
        ("reference/airports", "airport"),
        ("reference/planes", "tailnum"),
        ("marts/hourly_traffic", "carrier, origin, departure_hour"),
        ("marts/daily_traffic", "carrier, origin, flight_date"),
        ("marts/weekly_traffic", "carrier, origin, week"),
        ("marts/monthly_traffic", "carrier, origin, month"),
        ("marts/carrier_scorecard", "carrier, month"),
    ],
)
def test_keys_are_unique(lake: Lake, table: str, key: str):
    row = lake.one(table, "count(*) AS rows", f"count(DISTINCT {key}) AS keys")
    assert row["rows"] == row["keys"]


def test_the_columns_written_are_those_of_the_expected_lineage(lake: Lake):
    for path in CASES.glob("*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        if "fields" in case:
            assert sorted(lake.table(case["output"]).columns) == sorted(case["fields"]), path.name


def test_arrivals_made_from_clocks_agree_with_the_delays_that_the_source_reckoned(lake: Lake):
    """`arr_delay` plays no part in `arrived_at`, so that they agree for every flight proves dates and zones of both ends."""
    row = lake.one(
        "clean/flights",
        "count(arrived_at) AS arrived",
        "count_if(unix_timestamp(arrived_at) - unix_timestamp(sched_arr_at) != 60 * arr_delay) AS disagree",
        "count_if(unix_timestamp(arrived_at) - unix_timestamp(departed_at) <= 60 * air_minutes) AS faster_than_flown",
        "min(unix_timestamp(sched_arr_at) - unix_timestamp(sched_dep_at)) / 60 AS shortest",
        "max(unix_timestamp(sched_arr_at) - unix_timestamp(sched_dep_at)) / 60 AS longest",
    )
    assert row.arrived == FLIGHTS - CANCELLED - DIVERTED
    assert (row.disagree, row.faster_than_flown) == (0, 0)
    assert 20 < row.shortest < row.longest < 12 * 60


def test_every_flight_leaves_on_its_date_and_hour_in_new_york(lake: Lake):
    row = lake.one(
        "clean/flights",
        "count_if(date(from_utc_timestamp(sched_dep_at, 'America/New_York')) != flight_date) AS other_day",
        "count_if(hour(from_utc_timestamp(sched_dep_at, 'America/New_York')) != local_hour) AS other_hour",
        "min(local_hour) AS earliest",
    )
    assert (row.other_day, row.other_hour) == (0, 0)
    assert row.earliest >= 1, "the features take midnight to be before every cutoff"


def test_the_weather_has_no_holes_and_no_hurricane_in_newark(lake: Lake):
    row = lake.one("clean/weather", "count(*) AS rows", "count_if(age_hours = 0) AS observed", "max(wind_mph) AS wind")
    assert row["rows"] == 3 * 8_730
    assert row.observed == OBSERVATIONS
    assert row.wind < 60


def test_flights_without_weather_are_those_after_the_stations_stop_and_in_the_long_gaps(lake: Lake):
    row = lake.one(
        "enriched/flights",
        "count_if(temperature_f IS NULL) AS missing",
        "count_if(temperature_f IS NULL AND departure_hour > '2013-12-30 23:00:00') AS after_the_end",
    )
    assert row.missing < FLIGHTS * 0.003
    assert row.after_the_end >= 776


def test_exactly_the_flights_of_the_stuck_hours_have_no_sight(lake: Lake):
    """A stuck sensor says that one sees nothing. The story ends with its correction, after which all see as far as before."""
    row = (
        lake.table("enriched/flights")
        .where("flight_date BETWEEN '2013-03-09' AND '2013-03-10'")
        .selectExpr(
            "count_if(departure_hour BETWEEN '2013-03-10 00:00:00' AND '2013-03-10 09:00:00') AS stuck",
            "count_if(visibility_miles = 0) AS blind",
            "count_if(visibility_miles = 0 AND departure_hour NOT BETWEEN '2013-03-10 00:00:00' AND '2013-03-10 09:00:00') AS others",
        )
        .first()
    )
    assert row.stuck > 100
    assert (row.blind, row.others) == (0, 0)


@pytest.mark.parametrize("table", ["hourly", "daily", "weekly", "monthly"])
def test_aggregates_add_up_to_the_clean_flights(lake: Lake, table: str):
    truth = lake.one(
        "clean/flights",
        "count(*) AS flights",
        "count_if(status = 'cancelled') AS cancelled",
        "count_if(status = 'diverted') AS diverted",
        "count(dep_delay) AS departed",
        "sum(dep_delay) AS dep_delay_sum",
        "count(arr_delay) AS arrived",
        "sum(arr_delay) AS arr_delay_sum",
        "count_if(arr_delay < 15) AS on_time",
    ).asDict()
    name = f"marts/{table}_traffic"
    measures = [measure for measure in truth if measure in lake.table(name).columns]
    assert len(measures) >= 5
    sums = lake.one(name, *(f"sum({measure}) AS {measure}" for measure in measures)).asDict()
    assert sums == {measure: truth[measure] for measure in measures}
    assert (truth["cancelled"], truth["diverted"]) == (CANCELLED, DIVERTED)


def test_weeks_are_whole_but_for_the_first_and_the_last(lake: Lake):
    rows = lake.table("marts/weekly_traffic").groupBy("week").agg({"days": "max"}).collect()
    days = {row.week.isoformat(): row["max(days)"] for row in rows}
    assert len(days) == 53
    assert {week: number for week, number in days.items() if number != 7} == {"2012-12-31": 6, "2013-12-30": 2}


def test_the_scorecard_is_that_of_the_clean_flights(lake: Lake):
    months = lake.table("clean/flights").selectExpr("trunc(flight_date, 'month') AS month", "carrier", "arr_delay")
    truth = {
        (row.month, row.carrier): row
        for row in months.groupBy("month", "carrier").agg({"*": "count", "arr_delay": "avg"}).collect()
    }
    rows = lake.table("marts/carrier_scorecard").collect()
    for row in rows:
        expected = truth[row.month, row.carrier]
        assert row.flights == expected["count(1)"]
        assert row.mean_arr_delay == pytest.approx(expected["avg(arr_delay)"])
        assert row.grade == ("A" if row.on_time_share >= 0.85 else "B" if row.on_time_share >= 0.75 else "C")
    assert [row["rank"] for row in rows if row.carrier_name == "Virgin America"].count(1) == 7


def test_no_feature_comes_from_the_future(lake: Lake):
    """A leg counts only when it left an hour before the flight was to leave, and one that is pending tells no delay."""
    row = lake.one(
        "features/departures",
        "min(previous_leg_hours_ago) AS soonest",
        "count_if(previous_leg_pending AND previous_leg_delay IS NOT NULL) AS told",
        "count_if(split = 'train' AND flight_date >= '2013-10-01') AS mixed",
        "count_if(carrier_delay_yesterday IS NULL AND flight_date > '2013-01-01') / count(*) AS unknown_yesterday",
    )
    assert row.soonest >= 0
    assert (row.told, row.mixed) == (0, 0)
    assert row.unknown_yesterday < 0.02


def test_the_report_stands_alone(lake: Lake):
    page = (lake.path / "report/index.html").read_text(encoding="utf-8")
    assert f"{FLIGHTS:,} flights" in page
    assert page.count('src="data:image/png;base64,') == 6
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)
    assert "nan" not in re.sub(r"base64,[^\"]+", "", page)
