"""The logs as they had arrived by a time, streamed from one database into another. The first is only read."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Literal
from urllib.parse import quote

import msgspec
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from headwater.errors import DatabaseRefused
from headwater.model.identity import Rule
from headwater.store import sqlfile
from headwater.store.database import Connection, Database, connecting, translated
from headwater.store.events import events, retention
from headwater.store.events.projections import TABLES
from headwater.store.events.server_state import ServerState
from headwater.store.migrate import files

_rules = msgspec.json.Decoder(tuple[Rule, ...])
LOGS = ("events", "warnings", "changes")
# The columns that the queries of these names read, in their order.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "events": ("event_time", "digest", "kind", "event_type", "run_id", "producer", "received_at", "body", "arrived"),
    "warnings": ("event_time", "digest", "position", "producer", "code", "place", "message"),
    "changes": ("id", "at", "author", "action", "target", "body", "node", "other"),
}
# The time and the seal that a database is a replay of, and whether its tables are made. Only replays have this table, so no migration makes it.
_MARK = """create table replayed (until timestamptz not null, seal bigint not null, copied_at timestamptz not null default clock_timestamp(),
  projected_at timestamptz)"""
_LAST = dt.datetime(2051, 1, 1, tzinfo=dt.UTC)
# PostgreSQL cuts a longer name with a notice, and then finds no database of that name.
_LONGEST_NAME = 63

# The origin of the rules: the audit log says which held then, or that there were none yet; if it does not say, today's are taken.
Origin = Literal["audit", "none yet", "today"]
Copied = Literal["events", "warnings", "changes"]


class Extent(msgspec.Struct, frozen=True):
    """The size of the logs as they had arrived by a time. `seal` differs if the events or changes differ."""

    events: int
    changes: int
    seal: int


class ReplayTarget(msgspec.Struct, frozen=True):
    """The content of a database to be replayed into. `strange`: a table that is none of ours. `until` and `seal` are
    those of a replay that copied its logs here; `projected` says whether it also made the tables."""

    strange: str | None = None
    events: int = 0
    changes: int = 0
    until: dt.datetime | None = None
    seal: int | None = None
    projected: bool = False


async def behind(connection: Connection) -> list[str] | None:
    """Migrations that did not run yet; None if there is no database of ours."""
    queries = sqlfile.load("events/replay")
    if "migrations" not in {row[0] for row in await queries["tables"].many(connection)}:
        return None
    ran = {row[0] for row in await queries["migrated"].many(connection)}
    return [name for name, _ in files() if name not in ran]


async def clock(connection: Connection) -> dt.datetime:
    (now,) = await sqlfile.load("events/replay")["clock"].one(connection)
    return now  # type: ignore[no-any-return]


async def begins(connection: Connection) -> dt.datetime | None:
    """Return when the first event or change that is left arrived; None if the logs are empty."""
    (first,) = await sqlfile.load("events/replay")["begins"].one(connection)
    return first  # type: ignore[no-any-return]


async def extent(connection: Connection, until: dt.datetime) -> Extent:
    return Extent(*await sqlfile.load("events/replay")["extent"].one(connection, until=until))


async def rules_at(
    connection: Connection, until: dt.datetime, today: tuple[Rule, ...]
) -> tuple[tuple[Rule, ...], Origin]:
    """The rules about names that held at a time."""
    queries = sqlfile.load("events/replay")
    if told := await queries["rules_told"].maybe(connection, until=until):
        return _rules.decode(told[0]), "audit"
    (later,) = await queries["rules_told_later"].one(connection, until=until)
    return ((), "none yet") if later else (today, "today")


async def held(connection: Connection) -> ReplayTarget:
    queries = sqlfile.load("events/replay")
    tables = {row[0] for row in await queries["tables"].many(connection)}
    if "migrations" not in tables:
        return ReplayTarget(strange=min(tables)) if tables else ReplayTarget()
    logged = await extent(connection, _LAST) if {"events", "changes"} <= tables else Extent(0, 0, 0)
    mark = None
    if "replayed" in tables:
        cursor = await connection.execute("select until, seal, projected_at is not null from replayed")
        mark = await cursor.fetchone()
    return ReplayTarget(None, logged.events, logged.changes, *(mark or ()))


async def make_months(source: Connection, target: Database) -> None:
    """Make every month of the source's log in the target's log."""
    names = [name for name, _ in await retention.months(source, _LAST)]
    await events.Partitions().ensure(
        target, [dt.datetime(int(name[7:11]), int(name[12:14]), 1, tzinfo=dt.UTC) for name in names]
    )


async def copy(
    source: Connection,
    target: Connection,
    what: Copied,
    until: dt.datetime,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Stream one log of any size, a block at a time; return how many rows. `progress` is called with about how many so far."""
    wanted = sqlfile.load("events/replay")[what].sql
    async with source.cursor() as reading, target.cursor() as writing:
        async with (
            reading.copy(f"copy ({wanted}) to stdout (format binary)", {"until": until}) as out,
            writing.copy(f"copy {what} ({', '.join(_COLUMNS[what])}) from stdin (format binary)") as into,
        ):
            blocks = 0
            async for block in out:
                await into.write(block)
                blocks += 1
                if blocks % 1000 == 0:
                    progress(blocks)
        return writing.rowcount


async def settle(connection: Connection, until: dt.datetime, seal: int, source: ServerState) -> None:
    """Record what this database is a replay of; called after the copying, in its transaction."""
    queries = sqlfile.load("events/replay")
    await queries["number_on"].many(connection)
    await queries["like_source"].exec(
        connection, dropped_before=source.log_dropped_before, bytes_digests_until=source.bytes_digests_until
    )
    await connection.execute(_MARK)
    await connection.execute("insert into replayed (until, seal) values (%s, %s)", (until, seal))


async def mark_projected(connection: Connection) -> None:
    """Record that the replay's tables are made."""
    await connection.execute("update replayed set projected_at = clock_timestamp()")


async def places(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return for every table of logs and projections the number of its rows, and a number made of each row's place and
    of the transaction that wrote it. A row that is written again moves, even if its values are the same as before."""
    found = {}
    for table in (*LOGS, *TABLES):
        made = "coalesce(bit_xor(hashtextextended(concat_ws(':', tableoid::oid, ctid, xmin), 0)), 0)"
        cursor = await connection.execute(sql.SQL(f"select count(*), {made} from {{}}").format(sql.Identifier(table)))
        ((rows, number),) = await cursor.fetchall()
        found[table] = (rows, number)
    return found


async def beside(url: str, name: str) -> str:
    """The address of another database of the same PostgreSQL, which is made when it is not there.

    Raises DatabaseUnavailable, and DatabaseRefused for a name that PostgreSQL would cut, for a template, and without the right to create a database.
    """
    if len(name.encode()) > _LONGEST_NAME:
        raise DatabaseRefused(f"the name {name[:80]!r} is over {_LONGEST_NAME} bytes; give a shorter one")
    with translated():
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True, **connecting(url))
        async with connection:
            there = await connection.execute("select datistemplate from pg_database where datname = %s", (name,))
            row = await there.fetchone()
            if row is not None and row[0]:
                raise DatabaseRefused(
                    f"{name!r} is a template, of which PostgreSQL makes other databases; give another name"
                )
            if row is None:
                await connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    address = re.fullmatch(r"(postgres(?:ql)?://[^/?]*)(?:/[^?]*)?(\?.*)?", url)
    return f"{address[1]}/{quote(name, safe='')}{address[2] or ''}" if address else make_conninfo(url, dbname=name)
