"""Plants for the proof of pruning: a view older than the log, a trigger, readers that the log does not
have, weekly and monthly ones, and tables without any reader.

`READERS` that no log has read a copy of the database: Headwater knows them by what they report themselves, or not at all.
"""

import datetime as dt
from collections.abc import Iterator

from asking import ANN, BOB, CARLA, DBEAVER, JUPYTER, PSQL, Asked
from database import LOADER, Database

PARTNER, BOARD = "partner", "board"
READERS = (PARTNER, BOARD)

_BEFORE = (
    "create schema ops",
    "grant usage on schema ops to public",
    "create table ops.carrier_codes (carrier text, code text)",
    "insert into ops.carrier_codes select 'C' || n, 'code ' || n from generate_series(1, 2000) n",
    "create view ops.v_codes as select carrier, upper(code) as code from ops.carrier_codes",
    "grant select on all tables in schema ops to public",
)
"""Made before the log begins."""

_FIRST = (
    "create table ops.feed_settings (name text, value text)",
    "insert into ops.feed_settings values ('tolerance', '3')",
    "create table ops.load_audit (at timestamptz, setting text)",
    "create function ops.audit() returns trigger language plpgsql as $$ begin "
    "insert into ops.load_audit select now(), value from ops.feed_settings where name = 'tolerance'; return null; end $$",
    "create trigger audited after insert on raw.airlines for each statement execute function ops.audit()",
    "create table ops.partner_feed as select origin, dest, 0::float as delay from raw.flights limit 0",
    "create table ops.board_pack (day date, flights bigint)",
    "create table ops.weekly_summary (day date, flights bigint)",
    "create table ops.month_end (day date, flights bigint)",
    "create table ops.dead_daily (day date, origin text, dest text, note text)",
    "create view ops.v_dead as select day, count(*) as flights from ops.dead_daily group by day",
    "create view ops.v_late as select origin, dest, dep_delay from raw.flights where dep_delay > 60",
    "grant select on all tables in schema ops to public",
)


def before(database: Database) -> None:
    with database.connected(LOADER, "setup") as cursor:
        for text in _BEFORE:
            cursor.execute(text)


def first(database: Database) -> None:
    with database.connected(LOADER, "setup") as cursor:
        for text in _FIRST:
            cursor.execute(text)


def planted(number: int, day: dt.date) -> Iterator[Asked]:
    """The queries of the `number`th day besides."""
    yield Asked(dt.time(4, 0), LOADER, "nightly-exports", tuple(_exports(day)))
    yield Asked(dt.time(5, 0), PARTNER, "partner-sync", ("select origin, dest, delay from ops.partner_feed",))
    yield Asked(dt.time(8, 30), "metabase", "", ("select code, count(*) from ops.v_codes group by code",))
    if day.weekday() == 0:
        yield Asked(dt.time(6, 0), BOARD, "board-pack", ("select * from ops.board_pack order by day",))
        yield Asked(dt.time(8, 40), CARLA, JUPYTER, ("select * from ops.weekly_summary where flights > 0",))
        yield Asked(dt.time(8, 50), BOB, PSQL, ("select origin, count(*) from ops.v_late group by origin",))
    if number % 27 == 1:
        yield Asked(dt.time(8, 55), ANN, DBEAVER, ("select sum(flights) from ops.month_end",))


def _exports(day: dt.date) -> Iterator[str]:
    yield "truncate ops.partner_feed"
    yield "insert into ops.partner_feed select origin, dest, avg(dep_delay) from raw.flights group by origin, dest"
    for name in ("board_pack", "weekly_summary", "month_end"):
        yield f"insert into ops.{name} select date '{day}', count(*) from raw.flights"
    yield f"insert into ops.dead_daily select date '{day}', origin, dest, repeat('x', 40) from raw.flights limit 5000"
