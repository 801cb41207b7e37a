"""The transformations of the flights example on rows made by hand: the nights when clocks change, midnight, what is missing."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from flights_example import load

pytestmark = pytest.mark.spark


def utc(text: str) -> datetime:
    """`2013-03-10 07:00` as an instant."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def instant(value: datetime | None) -> str | None:
    """Return a time that Spark hands to Python (local time of this process, without a zone) as UTC text, to the minute."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if value else None


def staged(**changes: Any) -> dict[str, Any]:
    """A staged flight: Newark to Chicago, 1 July, 08:15 by the clock, on time; `changes` say what is different."""
    row = {
        "date": date(2013, 7, 1),
        "carrier": "UA",
        "flight": 1,
        "tailnum": "N1",
        "origin": "EWR",
        "dest": "ORD",
        "dep_time": 815,
        "sched_dep_time": 815,
        "dep_delay": 0,
        "arr_time": 940,
        "sched_arr_time": 940,
        "arr_delay": 0,
        "air_time": 110,
        "distance": 719,
        "hour": 8,
        "minute": 15,
        "time_hour": utc("2013-07-01 12:00"),
    }
    return row | changes


STAGED = """
    date DATE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, dep_time INT, sched_dep_time INT,
    dep_delay INT, arr_time INT, sched_arr_time INT, arr_delay INT, air_time INT, distance INT, hour INT, minute INT,
    time_hour TIMESTAMP
"""
ZONES = [
    ("ORD", "America/Chicago"),
    ("LAX", "America/Los_Angeles"),
    ("HNL", "Pacific/Honolulu"),
    ("PHX", "America/Phoenix"),
    ("BOS", "America/New_York"),
    ("SJU", "America/Puerto_Rico"),
    ("EEN", None),
]


def rows_of(spark: Any, schema: str, rows: list[dict[str, Any]]) -> Any:
    """A DataFrame of the rows, in the schema's order of columns; what a row does not name is null."""
    names = [column.split()[0] for column in schema.split(",")]
    return spark.createDataFrame([tuple(row.get(name) for name in names) for row in rows], schema)


@pytest.mark.parametrize(
    ("folder", "script", "period", "first", "last"),
    [
        ("ingest", "ingest", "", "2012-12-30", "2014-01-06"),
        ("clean_flights", "clean", "2013-03-10", "2013-03-10", "2013-03-10"),
        ("enrich_flights", "enrich", "2013-03-09..2013-03-10", "2013-03-09", "2013-03-10"),
        ("hourly_traffic", "hourly", "2013-02", "2013-02-01", "2013-02-28"),
        ("daily_traffic", "daily", "2013-02-28..2013-03", "2013-02-28", "2013-03-31"),
        ("hourly_weather", "hourly", "2013-11-03T01-04:00..2013-11-03T09-05:00", "2013-11-03", "2013-11-03"),
        ("weekly_traffic", "weekly", "2013-W01", "2012-12-31", "2013-01-06"),
        ("weekly_traffic", "weekly", "2013-W52..2014-W01", "2013-12-23", "2014-01-05"),
        ("monthly_traffic", "monthly", "2013-12..2014-01", "2013-12-01", "2014-01-06"),
    ],
)
def test_the_days_of_a_period(spark: Any, folder: str, script: str, period: str, first: str, last: str) -> None:
    """As `headwater run --period` passes it on: empty for everything."""
    days = spark.sql("SELECT explode(sequence(date'2012-12-30', date'2014-01-06')) AS day")
    row = days.where(load(folder, script).of_period(days.day, period)).selectExpr("min(day)", "max(day)").first()
    assert tuple(map(str, row)) == (first, last)


class TestCleanFlights:
    @pytest.fixture(scope="class")
    @classmethod
    def clean(cls) -> Any:
        return load("clean_flights", "clean")

    def cleaned(self, spark: Any, clean: Any, **changes: Any) -> Any:
        judged = self.judged(spark, clean, staged(**changes))
        assert clean.rejected(judged).count() == 0
        return clean.clean(judged).first()

    def judged(self, spark: Any, clean: Any, *rows: dict[str, Any]) -> Any:
        airports = spark.createDataFrame(ZONES, "airport STRING, timezone STRING")
        return clean.judge(rows_of(spark, STAGED, list(rows)), airports, "2013")

    def test_a_day_in_july(self, spark: Any, clean: Any):
        row = self.cleaned(spark, clean)
        assert row.flight_id == "2013-07-01_UA_1_EWR"
        assert instant(row.sched_dep_at) == "2013-07-01 12:15"
        assert instant(row.sched_arr_at) == "2013-07-01 14:40"
        assert instant(row.arrived_at) == "2013-07-01 14:40"
        assert row.status == "completed"

    def test_the_arrival_is_on_the_clock_of_the_destination(self, spark: Any, clean: Any):
        row = self.cleaned(spark, clean, dest="HNL", sched_arr_time=1400, arr_time=1345, arr_delay=-15)
        assert instant(row.sched_arr_at) == "2013-07-02 00:00"
        assert instant(row.arrived_at) == "2013-07-01 23:45"

    def test_the_clock_may_show_the_same_time_on_arrival(self, spark: Any, clean: Any):
        """An hour's flight to the next zone: later than the departure, though the reading is not."""
        row = self.cleaned(spark, clean, sched_arr_time=815, arr_time=820, arr_delay=5)
        assert instant(row.sched_arr_at) == "2013-07-01 13:15"
        assert instant(row.arrived_at) == "2013-07-01 13:20"

    def test_a_flight_lands_after_midnight(self, spark: Any, clean: Any):
        late = {"sched_dep_time": 2159, "hour": 21, "minute": 59, "time_hour": utc("2013-07-02 01:00")}
        row = self.cleaned(
            spark, clean, **late, dest="SJU", dep_time=2159, sched_arr_time=149, arr_time=2359, arr_delay=-110
        )
        assert row.flight_date == date(2013, 7, 1)
        assert instant(row.sched_arr_at) == "2013-07-02 05:49"
        assert instant(row.arrived_at) == "2013-07-02 03:59", (
            "Puerto Rico has New York's summer time: no midnight crossed"
        )

    def test_a_delay_carries_the_departure_over_midnight(self, spark: Any, clean: Any):
        late = {"sched_dep_time": 2345, "hour": 23, "minute": 45, "time_hour": utc("2013-07-02 03:00")}
        row = self.cleaned(
            spark, clean, **late, dep_time=30, dep_delay=45, dest="BOS", sched_arr_time=50, arr_time=140, arr_delay=50
        )
        assert instant(row.departed_at) == "2013-07-02 04:30"
        assert instant(row.sched_arr_at) == "2013-07-02 04:50"
        assert instant(row.arrived_at) == "2013-07-02 05:40"

    def test_2400_is_midnight_at_the_end_of_the_day(self, spark: Any, clean: Any):
        late = {"sched_dep_time": 2250, "hour": 22, "minute": 50, "time_hour": utc("2013-07-02 02:00"), "dest": "BOS"}
        lands = self.cleaned(
            spark, clean, **late, dep_time=2250, dep_delay=0, sched_arr_time=2359, arr_time=2400, arr_delay=1
        )
        leaves = self.cleaned(
            spark, clean, **late, dep_time=2400, dep_delay=70, sched_arr_time=2359, arr_time=109, arr_delay=70
        )
        assert instant(lands.arrived_at) == "2013-07-02 04:00"
        assert instant(leaves.departed_at) == "2013-07-02 04:00"
        assert instant(leaves.arrived_at) == "2013-07-02 05:09"

    @pytest.mark.parametrize(
        ("day", "time_hour", "dest", "expected"),
        [
            # A flight of 23:30 that lands at 05:10: five hours and forty minutes, but for the night the clocks change.
            (date(2013, 3, 8), "2013-03-09 04:00", "BOS", "2013-03-09 10:10"),
            (date(2013, 3, 9), "2013-03-10 04:00", "BOS", "2013-03-10 09:10"),
            (date(2013, 11, 2), "2013-11-03 03:00", "BOS", "2013-11-03 10:10"),
            (date(2013, 11, 1), "2013-11-02 03:00", "BOS", "2013-11-02 09:10"),
            # Phoenix does not change its clock.
            (date(2013, 3, 9), "2013-03-10 04:00", "PHX", "2013-03-10 12:10"),
            (date(2013, 7, 1), "2013-07-02 03:00", "PHX", "2013-07-02 12:10"),
        ],
    )
    def test_the_nights_when_clocks_change(
        self, spark: Any, clean: Any, day: date, time_hour: str, dest: str, expected: str
    ):
        night = {"date": day, "time_hour": utc(time_hour), "sched_dep_time": 2330, "hour": 23, "minute": 30}
        row = self.cleaned(spark, clean, **night, dep_time=2330, dest=dest, sched_arr_time=510, arr_time=510)
        assert instant(row.sched_dep_at) == f"{time_hour[:13]}:30"
        assert instant(row.sched_arr_at) == expected

    def test_a_departure_in_the_hour_that_comes_twice_is_told_apart(self, spark: Any, clean: Any):
        """Both are 01:06 by the clock; `time_hour` knows which."""
        twice = {"date": date(2013, 11, 3), "sched_dep_time": 106, "dep_time": 106, "hour": 1, "minute": 6}
        first = self.cleaned(spark, clean, **twice, time_hour=utc("2013-11-03 05:00"))
        second = self.cleaned(spark, clean, **twice, time_hour=utc("2013-11-03 06:00"))
        assert (instant(first.sched_dep_at), instant(second.sched_dep_at)) == ("2013-11-03 05:06", "2013-11-03 06:06")

    def test_a_cancelled_flight_has_a_plan_and_nothing_else(self, spark: Any, clean: Any):
        gone = dict.fromkeys(("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "tailnum"))
        row = self.cleaned(spark, clean, **gone)
        assert row.status == "cancelled"
        assert instant(row.sched_arr_at) == "2013-07-01 14:40"
        assert (row.departed_at, row.arrived_at, row.tailnum) == (None, None, None)

    def test_a_diverted_flight_left_but_has_no_arrival(self, spark: Any, clean: Any):
        row = self.cleaned(spark, clean, arr_time=1730, arr_delay=None, air_time=None)
        assert row.status == "diverted"
        assert instant(row.departed_at) == "2013-07-01 12:15"
        assert row.arrived_at is None

    def test_rows_that_break_a_rule_are_kept_apart_with_the_reason(self, spark: Any, clean: Any):
        rows = [
            staged(flight=1),
            staged(flight=2, dest="XXX"),
            staged(flight=3, dest="EEN"),
            staged(flight=4, sched_dep_time=875),
            staged(flight=5, dep_time=830, dep_delay=5),
            staged(flight=6, date=date(2014, 1, 1)),
        ]
        judged = self.judged(spark, clean, *rows)
        faults = {row.flight_id.split("_")[2]: row.fault for row in clean.rejected(judged).collect()}
        assert faults == {
            "2": "unknown destination",
            "3": "unknown destination",
            "4": "no such time of day",
            "5": "departure and delay disagree",
        }
        assert [row.flight for row in clean.clean(judged).collect()] == [1]


class TestReference:
    @pytest.fixture(scope="class")
    @classmethod
    def reference(cls) -> Any:
        return load("reference", "reference")

    def test_the_supplement_adds_and_replaces(self, spark: Any, reference: Any):
        airports = spark.createDataFrame(
            [
                ("EEN", "Dillant", 72.3, 42.9, 1, -5, "A", None),
                ("BOS", "Logan", 42.4, -71.0, 1, -5, "A", "America/New_York"),
            ],
            reference.AIRPORTS,
        )
        supplement = spark.createDataFrame(
            [
                ("EEN", "Dillant", 42.9, -72.3, 1, -5, "A", "America/New_York"),
                ("SJU", "Marin", 18.4, -66.0, 9, -4, "N", "America/Puerto_Rico"),
            ],
            reference.AIRPORTS,
        )
        rows = {row.airport: row for row in reference.name_airports(airports, supplement).collect()}
        assert sorted(rows) == ["BOS", "EEN", "SJU"]
        assert rows["EEN"].latitude == 42.9
        assert rows["SJU"].timezone == "America/Puerto_Rico"

    def test_names_and_years(self, spark: Any, reference: Any):
        planes = spark.createDataFrame(
            [
                ("N1", 1956, "t", "AIRBUS INDUSTRIE", "m", 2, 100, None, "e"),
                ("N2", 1999, "t", "MCDONNELL DOUGLAS AIRCRAFT CO", "m", 2, 100, None, "e"),
                ("N3", None, "t", "BOEING", "m", 2, 100, None, "e"),
            ],
            reference.PLANES,
        )
        rows = [
            (row.built_year, row.manufacturer) for row in reference.name_planes(planes).orderBy("tailnum").collect()
        ]
        assert rows == [(None, "AIRBUS"), (1999, "MCDONNELL DOUGLAS"), (None, "BOEING")]
        airlines = spark.createDataFrame([("AA", "American Airlines Inc."), ("MQ", "Envoy Air")], reference.AIRLINES)
        assert sorted(row.name for row in reference.name_airlines(airlines).collect()) == [
            "American Airlines",
            "Envoy Air",
        ]


WEATHER = (
    "origin STRING, time_hour TIMESTAMP, temp DOUBLE, wind_speed DOUBLE, visib DOUBLE, pressure DOUBLE, precip DOUBLE"
)


class TestHourlyWeather:
    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls, spark: Any) -> dict[str, Any]:
        hourly = load("hourly_weather", "hourly")

        def observed(time: str, temp: float | None, wind: float = 5.0, origin: str = "JFK") -> dict[str, Any]:
            values = {"origin": origin, "time_hour": utc(time), "temp": temp, "wind_speed": wind}
            return values | {"visib": 10.0, "pressure": None, "precip": 0.1}

        observations = [
            observed("2013-11-03 05:00", 50.0),
            observed("2013-11-03 06:00", 49.0, wind=1048.4),
            observed("2013-11-03 11:00", 60.0),
            observed("2013-11-03 12:00", None),
            observed("2013-11-03 07:00", 99.0, origin="EWR"),
        ]
        result = hourly.hourly(rows_of(spark, WEATHER, observations)).where("origin = 'JFK'").collect()
        return {str(instant(row.hour)): row for row in result}

    def test_every_hour_has_one_row_also_when_the_clock_shows_it_twice(self, rows: dict[str, Any]):
        assert sorted(rows) == [f"2013-11-03 {hour:02}:00" for hour in range(5, 13)]

    def test_a_state_is_carried_for_three_hours_and_no_longer(self, rows: dict[str, Any]):
        assert [rows[f"2013-11-03 {hour:02}:00"].temperature_f for hour in range(6, 11)] == [
            49.0,
            49.0,
            49.0,
            49.0,
            None,
        ]
        assert [rows[f"2013-11-03 {hour:02}:00"].age_hours for hour in range(6, 11)] == [0, 1, 2, 3, None]

    def test_another_airport_lends_nothing(self, rows: dict[str, Any]):
        assert rows["2013-11-03 07:00"].temperature_f == 49.0

    def test_an_amount_is_not_carried(self, rows: dict[str, Any]):
        assert rows["2013-11-03 06:00"].precipitation_in == 0.1
        assert rows["2013-11-03 07:00"].precipitation_in is None

    def test_an_impossible_wind_is_no_reading(self, rows: dict[str, Any]):
        assert rows["2013-11-03 06:00"].wind_mph == 5.0, "the hour before"

    def test_one_missing_value_in_a_report_is_filled_alone(self, rows: dict[str, Any]):
        assert rows["2013-11-03 12:00"].temperature_f == 60.0
        assert rows["2013-11-03 12:00"].age_hours == 0


FLIGHTS = """
    flight_id STRING, flight_date DATE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
    distance_miles INT, local_hour INT, departure_hour TIMESTAMP, sched_dep_at TIMESTAMP, departed_at TIMESTAMP,
    sched_arr_at TIMESTAMP, arrived_at TIMESTAMP, dep_delay INT, arr_delay INT, air_minutes INT, status STRING
"""
ENRICHED = FLIGHTS + ", visibility_miles DOUBLE, seats INT, aircraft_age INT"
HOURLY = "origin STRING, hour TIMESTAMP, temperature_f DOUBLE, wind_mph DOUBLE, visibility_miles DOUBLE, precipitation_in DOUBLE"


def flown(flight_id: str, sched_dep_at: str, **changes: Any) -> dict[str, Any]:
    """A completed flight from JFK, by its scheduled departure (UTC); `dep_delay` alone moves its departure."""
    scheduled = utc(sched_dep_at)
    row = {
        "flight_id": flight_id,
        "flight_date": scheduled.date(),
        "carrier": "B6",
        "tailnum": "N1",
        "origin": "JFK",
        "dest": "BOS",
        "departure_hour": scheduled.replace(minute=0),
        "sched_dep_at": scheduled,
        "dep_delay": 0,
        "arr_delay": 0,
        "status": "completed",
    } | changes
    if row["dep_delay"] is not None:
        row["departed_at"] = datetime.fromtimestamp(scheduled.timestamp() + 60 * row["dep_delay"], UTC)
    return row


class TestEnrichFlights:
    def test_every_flight_has_one_row_whatever_is_missing(self, spark: Any):
        enrich = load("enrich_flights", "enrich")
        flights = [
            flown("first", "2013-11-03 05:30"),
            flown("second", "2013-11-03 06:30"),
            flown("no weather", "2013-11-03 07:30", tailnum="N404", carrier="ZZ", dest="XXX"),
            flown("cancelled", "2013-11-03 06:45", tailnum=None, status="cancelled", dep_delay=None),
        ]
        weather = [
            {"origin": "JFK", "hour": utc("2013-11-03 05:00"), "temperature_f": 54.0},
            {"origin": "JFK", "hour": utc("2013-11-03 06:00"), "temperature_f": 52.0},
            {"origin": "EWR", "hour": utc("2013-11-03 07:00"), "temperature_f": 99.0},
        ]
        result = enrich.enrich(
            rows_of(spark, FLIGHTS, flights),
            rows_of(spark, HOURLY, weather),
            spark.createDataFrame(
                [("N1", 2003, "AIRBUS", 150)], "tailnum STRING, built_year INT, manufacturer STRING, seats INT"
            ),
            spark.createDataFrame([("B6", "JetBlue")], "carrier STRING, name STRING"),
            spark.createDataFrame([("BOS", "Logan")], "airport STRING, name STRING"),
        )
        rows = {row.flight_id: row for row in result.collect()}
        assert len(rows) == result.count() == 4
        assert (rows["first"].temperature_f, rows["second"].temperature_f) == (54.0, 52.0), (
            "both read 01:30 on the clock"
        )
        assert (rows["first"].aircraft_age, rows["first"].carrier_name, rows["first"].dest_name) == (
            10,
            "JetBlue",
            "Logan",
        )
        lost = rows["no weather"]
        assert (lost.temperature_f, lost.seats, lost.carrier_name, lost.dest_name) == (None, None, None, None)
        assert rows["cancelled"].manufacturer is None


class TestAggregates:
    @pytest.fixture(scope="class")
    @classmethod
    def days(cls, spark: Any) -> Any:
        flights = [
            flown("a", "2013-01-05 12:10", dep_delay=10, arr_delay=14, visibility_miles=9.0),
            flown("b", "2013-01-05 12:40", dep_delay=20, arr_delay=15, visibility_miles=2.0),
            flown("c", "2013-01-05 14:00", dep_delay=-6, arr_delay=-5, visibility_miles=None),
            flown("d", "2013-01-07 14:00", dep_delay=None, arr_delay=None, status="cancelled"),
            flown("e", "2013-01-31 14:00", dep_delay=30, arr_delay=None, status="diverted"),
            flown("f", "2013-03-01 14:00", dep_delay=0, arr_delay=100),
            flown("g", "2013-04-01 14:00", dep_delay=0, arr_delay=60),
        ]
        hours = load("hourly_traffic", "hourly").hourly(rows_of(spark, ENRICHED, flights))
        assert hours.count() == 6
        return load("daily_traffic", "daily").daily(hours)

    def test_a_day_adds_up_its_hours(self, days: Any):
        row = days.where("flight_date = '2013-01-05'").first()
        assert (row.flights, row.cancelled, row.departed, row.arrived) == (3, 0, 3, 3)
        assert (row.dep_delay_sum, row.arr_delay_sum, row.on_time, row.worst_visibility_miles) == (24, 24, 2, 2.0)

    def test_a_day_without_arrivals_counts_its_flights(self, days: Any):
        cancelled = days.where("flight_date = '2013-01-07'").first()
        diverted = days.where("flight_date = '2013-01-31'").first()
        assert (cancelled.flights, cancelled.cancelled, cancelled.arrived, cancelled.on_time) == (1, 1, 0, 0)
        assert (diverted.diverted, diverted.departed, diverted.arrived) == (1, 1, 0)

    def test_a_week_begins_on_monday_and_means_come_from_sums(self, days: Any):
        rows = {row.week: row for row in load("weekly_traffic", "weekly").weekly(days).collect()}
        assert date(2012, 12, 31) in rows, "5 January is in the week that begins in the year before"
        assert rows[date(2012, 12, 31)].mean_arr_delay == 8.0
        assert rows[date(2012, 12, 31)].on_time_share == 2 / 3
        assert rows[date(2013, 1, 7)].mean_arr_delay is None, "nothing arrived"
        assert rows[date(2013, 1, 7)].cancelled_share == 1.0
        assert all(row.days == 1 for row in rows.values())

    def test_a_month_is_compared_with_the_month_before_and_no_other(self, days: Any):
        rows = {row.month: row for row in load("monthly_traffic", "monthly").monthly(days).collect()}
        assert rows[date(2013, 1, 1)].flights == 5
        assert rows[date(2013, 1, 1)].mean_arr_delay == 8.0
        assert rows[date(2013, 3, 1)].mean_arr_delay_change is None, "no flights in February"
        assert rows[date(2013, 4, 1)].mean_arr_delay_change == -40.0


class TestFeatures:
    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls, spark: Any) -> dict[str, Any]:
        flights = [
            flown("monday", "2013-07-01 12:00", dep_delay=30, arr_delay=16),
            flown(
                "monday, left after midnight",
                "2013-07-02 02:00",
                flight_date=date(2013, 7, 1),
                dep_delay=121,
                tailnum="N2",
            ),
            flown("tuesday", "2013-07-02 12:00", arr_delay=15),
            flown("tuesday, cancelled", "2013-07-02 14:00", dep_delay=None, arr_delay=None, status="cancelled"),
            flown("tuesday, after the cancelled", "2013-07-02 18:00", dep_delay=90),
            flown("tuesday, too soon to know", "2013-07-02 20:00"),
            flown("no aircraft 1", "2013-07-02 15:00", tailnum=None, dep_delay=55),
            flown("no aircraft 2", "2013-07-02 19:00", tailnum=None),
            flown("autumn", "2013-10-01 12:00", tailnum="N3"),
        ]
        weather = [
            {"origin": "JFK", "hour": utc("2013-07-02 11:00"), "visibility_miles": 1.0},
            {"origin": "JFK", "hour": utc("2013-07-02 12:00"), "visibility_miles": 10.0},
        ]
        features = load("delay_features", "features")
        result = features.features(rows_of(spark, ENRICHED, flights), rows_of(spark, HOURLY, weather)).collect()
        return {row.flight_id: row for row in result}

    def test_only_completed_flights_have_a_label(self, rows: dict[str, Any]):
        assert "tuesday, cancelled" not in rows
        assert (rows["monday"].late, rows["tuesday"].late) == (1, 0), "late is more than 15 minutes"

    def test_the_weather_is_that_of_the_hour_before(self, rows: dict[str, Any]):
        assert rows["tuesday"].visibility_before == 1.0
        assert rows["monday"].visibility_before is None

    def test_yesterday_counts_what_had_left_by_midnight(self, rows: dict[str, Any]):
        assert rows["tuesday"].carrier_delay_yesterday == 30.0, "the flight that left at 00:01 was not known"
        assert rows["tuesday"].carrier_departures_yesterday == 1
        assert rows["monday"].carrier_delay_yesterday is None

    def test_the_previous_leg_of_the_same_aircraft(self, rows: dict[str, Any]):
        assert rows["monday"].previous_leg_delay is None
        assert rows["monday"].previous_leg_pending is False
        assert rows["tuesday"].previous_leg_delay == 30
        assert rows["tuesday"].previous_leg_hours_ago == 22.5

    def test_a_leg_that_has_not_left_by_the_cutoff_is_pending_and_its_delay_unknown(self, rows: dict[str, Any]):
        after, soon = rows["tuesday, after the cancelled"], rows["tuesday, too soon to know"]
        assert (after.previous_leg_delay, after.previous_leg_pending) == (None, True), "cancelled: it never left"
        assert (soon.previous_leg_delay, soon.previous_leg_pending) == (None, True), (
            "it left at 19:30, the cutoff is 19:00"
        )

    def test_unknown_aircraft_are_not_one_aircraft(self, rows: dict[str, Any]):
        assert rows["no aircraft 2"].previous_leg_delay is None
        assert rows["no aircraft 2"].previous_leg_pending is False

    def test_the_split_is_by_time(self, rows: dict[str, Any]):
        assert (rows["tuesday"].split, rows["autumn"].split) == ("train", "test")
