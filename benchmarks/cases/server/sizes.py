"""Bytes and the cost of events in as the database grows: three sizes, ten events a job, and what 100 million runs would take by the slope.

    python benchmarks/cases/server/sizes.py [--events 5000 15000 45000]

Events go in by `Intake.accept_each`, in batches of 500, without HTTP. The cost is that of the last 2,500: processor time of Python, and of
PostgreSQL's backends by `/proc/PID/schedstat`. Their ratio moves less with the machine's load than either.
"""

import argparse
import asyncio
import time
from pathlib import Path

import msgspec
import psycopg
from catalogue import Catalogue, encoded
from fresh import Server, fresh

from headwater.intake.events.accept import Intake
from headwater.store.database import Database
from headwater.store.migrate import migrate

BATCH, MEASURED = 500, 2_500
_SIZE = """
select (select sum(pg_total_relation_size(c.oid))::int8 from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'm')),
       (select count(*) from runs), (select count(*) from datasets)
"""


class Size(msgspec.Struct, frozen=True):
    """A database after `events`. `python_us`, `postgres_us`: processor time an event."""

    events: int
    runs: int
    datasets: int
    bytes: int
    python_us: float
    postgres_us: float


def backend_seconds(url: str, database: str) -> dict[int, float]:
    """Return the processor time of the database's backends, by process."""
    asked = "select pid from pg_stat_activity where datname = %s and backend_type = 'client backend'"
    with psycopg.connect(url, autocommit=True) as connection:
        pids = [pid for (pid,) in connection.execute(asked, (database,)).fetchall()]
    return {pid: int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9 for pid in pids}


async def measure(server: Server, count: int) -> Size:
    name = f"sizes_{count}"
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = psycopg.conninfo.make_conninfo(server.database_url, dbname=name)
    made = Catalogue(count // 10).events(count)
    async with Database(url, pool_size=2) as database:
        await migrate(database)
        intake, left = Intake(database), count
        while left > MEASURED:
            size = min(BATCH, left - MEASURED)
            await intake.accept_each(encoded([next(made) for _ in range(size)]))
            left -= size
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")
        bodies = encoded(list(made))
        backends, python = backend_seconds(server.database_url, name), time.process_time()
        for at in range(0, MEASURED, BATCH):
            await intake.accept_each(bodies[at : at + BATCH])
        python = time.process_time() - python
        after = backend_seconds(server.database_url, name)
    postgres = sum(seconds - backends.get(pid, 0.0) for pid, seconds in after.items())
    with psycopg.connect(url, autocommit=True) as connection:
        size, runs, datasets = connection.execute(_SIZE).fetchone()  # type: ignore[misc]
    return Size(count, runs, datasets, size, python / MEASURED * 1e6, postgres / MEASURED * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, nargs="+", default=[5_000, 15_000, 45_000], help="each more than 2,500")
    parser.add_argument("--json", type=Path, help="where the figures are written too")
    given = parser.parse_args()
    sizes: list[Size] = []
    with fresh() as server:
        for count in sorted(given.events):
            size = asyncio.run(measure(server, count))
            sizes.append(size)
            print(
                f"{count:>9,} events, {size.runs:,} runs, {size.datasets:,} datasets: {size.bytes / count:,.0f} bytes an event; "
                f"{size.python_us:.0f} µs of Python, {size.postgres_us:.0f} of PostgreSQL, {size.postgres_us / size.python_us:.2f} of it",
                flush=True,
            )
    if len(sizes) > 1:
        smaller, larger = sizes[-2:]
        each = (larger.bytes - smaller.bytes) / (larger.runs - smaller.runs)
        print(f"{each:,.0f} bytes a run by the slope of the last two: {each / 10:,.0f} GB for 100 million runs")
    if given.json:
        given.json.write_bytes(msgspec.json.encode(sizes))


if __name__ == "__main__":
    main()
