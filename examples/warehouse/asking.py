"""The queries to the warehouse, their users and times: dashboards and a service every day, people on working days, and some things once.

Comments and names of applications are those that the tools write by themselves.
"""

import datetime as dt
import random
from collections.abc import Iterator
from typing import NamedTuple

from database import API

ANN, BOB, CARLA = "ann.lee", "bob.ortiz", "carla.nunes"
DBEAVER, PSQL, JUPYTER = "DBeaver 25.1.4 - SQLEditor <flights.sql>", "psql", "jupyter"
METABASE = "Metabase v0.56.3 [5f3c1f9a-6f0e-4f0e-9d43-0f2f4f7f7a11]"
RENAMED = 6
"""The day on which delays_by_carrier became carrier_delays."""


class Asked(NamedTuple):
    """Statements of one session. `fails`: the last one is refused by the server, as it should be."""

    at: dt.time
    user: str
    application: str
    statements: tuple[str, ...]
    fails: bool = False


def asked(number: int, day: dt.date, flown: dt.date) -> list[Asked]:
    """Return the queries of the `number`th day, in order. `flown`: the newest day of flights there is then."""
    found = [*_dashboards(number, flown), *_service(number), *_once(number)]
    if day.weekday() < 5:
        found += _people(number, flown)
    return sorted(found)


def _dashboards(number: int, flown: dt.date) -> Iterator[Asked]:
    carriers = "delays_by_carrier" if number < RENAMED else "carrier_delays"
    yield Asked(
        dt.time(7, 30),
        "metabase",
        METABASE,
        (
            "-- Metabase:: userID: 1 queryType: MBQL queryHash: 1f5c3b1d0f7f7f5e0a0e2f6b3c2d1e0f\n"
            'SELECT "marts"."daily_delays"."band" AS "band", SUM("marts"."daily_delays"."departures") AS "sum" FROM "marts"."daily_delays" '
            f'WHERE "marts"."daily_delays"."flown_on" >= date \'{flown - dt.timedelta(days=7)}\' '
            'GROUP BY "marts"."daily_delays"."band" ORDER BY "marts"."daily_delays"."band" ASC',
            "-- Metabase:: userID: 1 queryType: native queryHash: 77d0b9c1a4c8e5d3f2a1b0c9d8e7f6a5\n"
            f"select airline, sum(departures) as departures from marts.{carriers} group by airline order by 2 desc limit 10",
        ),
    )
    yield Asked(
        dt.time(8, 0),
        "superset",
        "",
        (
            f"/* superset dashboard_id=3 slice_id=12 username={ANN} */\n"
            "SELECT origin AS origin, AVG(mean_delay) AS delay FROM marts.route_delays GROUP BY origin LIMIT 50000",
        ),
    )
    yield Asked(
        dt.time(8, 15),
        "looker",
        "",
        (
            '-- Looker Query Context \'{"user_id":6,"history_slug":"6f1c2d3e4b5a69788796a5b4c3d2e1f0","instance_slug":"9c1b7d2e"}\'\n'
            'SELECT weather_effect.origin AS "weather_effect.origin", weather_effect.mean_delay AS "weather_effect.mean_delay" '
            "FROM marts.weather_effect AS weather_effect WHERE weather_effect.was_wet LIMIT 500",
        ),
    )


def _service(number: int) -> Iterator[Asked]:
    """The app's backend, three times a day."""
    for place, hour in enumerate((6, 12, 18)):
        origin = ("EWR", "JFK", "LGA")[(number + place) % 3]
        text = f"SELECT dest, mean_delay FROM marts.route_delays WHERE origin = '{origin}' AND departures > {place + 1}"
        yield Asked(dt.time(hour, 5), API, "delay-api", (text,))


def _people(number: int, flown: dt.date) -> Iterator[Asked]:
    """Ann looks at yesterday, on most days and at no fixed time; Carla explores; Bob looks around."""
    if number % 8 != 4:
        chance = random.Random(number)
        some_time = dt.time(chance.randrange(9, 18), chance.randrange(1, 60))
        text = f"select origin, count(*), avg(dep_delay) from marts.fct_departures where flown_on = date '{flown}' group by origin"
        yield Asked(some_time, ANN, DBEAVER, ("SET application_name = 'DBeaver 25.1.4 - Main'", "SELECT 1", text))
    if number % 4 == 1:
        yield Asked(
            dt.time(13, number % 50),
            CARLA,
            JUPYTER,
            (
                "BEGIN",
                "create temp table wet as select origin, dest, dep_delay from marts.fct_departures where precip > 0",
                "select dest, avg(dep_delay) from wet group by dest",
                "COMMIT",
                "select carrier, airline, dbt_valid_from from history.airlines_history where dbt_valid_to is null",
            ),
        )
    if number % 3 == 2:
        yield Asked(
            dt.time(15, number % 50),
            BOB,
            PSQL,
            (
                "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
                "set search_path to marts, public",
                "select count(*) from dim_airlines",
                "explain select * from route_delays where origin = 'JFK'",
                "show search_path",
            ),
        )


def _once(number: int) -> Iterator[Asked]:
    """Return the queries that run on one day and never again."""
    if number == 1:
        yield Asked(
            dt.time(10, 10),
            ANN,
            DBEAVER,
            (
                "create table scratch.late_evenings as select * from marts.fct_departures where dep_delay > 60 and extract(hour from time_hour) > 20",
                "select dest, count(*) from scratch.late_evenings group by dest",
            ),
        )
    if number == 2:
        yield Asked(dt.time(11, 20), BOB, PSQL, ("select * from marts.dayly_delays",), fails=True)
        yield Asked(dt.time(11, 25), ANN, DBEAVER, ("set statement_timeout = 20", "select pg_sleep(5)"), fails=True)
    if number == 3:
        yield Asked(
            dt.time(16, 45),
            BOB,
            PSQL,
            (
                "create table scratch.jfk_snow as select d.flown_on, count(*) as flights from marts.fct_departures as d "
                "where d.origin = 'JFK' and d.temp < 30 group by d.flown_on",
            ),
        )
    if number == 5:
        yield Asked(dt.time(14, 2), BOB, PSQL, ("update raw.airlines set name = 'Endeavor Air' where carrier = '9E'",))
