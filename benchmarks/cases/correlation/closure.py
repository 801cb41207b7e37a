"""Correlation: all descendants from the closure beside a recursive CTE over the same edges, what inserts cost, and what a bound costs.

    python benchmarks/cases/correlation/closure.py [--only questions|bound] [--pairs 100000 1000000 10000000]

A PostgreSQL of its own. The graph: files, each split into series, each series followed by steps that read the one before. The closure of that
is loaded whole (its rows are known); what inserts cost is then measured on top of it by the code that serves events, a transaction an event.
"""

import argparse
import asyncio
import datetime as dt
import hashlib
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import psycopg

from headwater.intake.events import closure
from headwater.store import migrate, sqlfile
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events import projections
from headwater.store.events.rows import CorrelationEdgeRow
from headwater.store.lineage.correlation import BOUND

STEPS = 60
# The rows of one series: each step's ancestors among the steps before it, and the file.
ROWS = STEPS * (STEPS - 1) // 2 + STEPS
AT = "2026-01-01T00:00:00+00"
WHEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
DEPTHS = (3, 10, 50)

# Step `i` of series `s` of file `f`; step 0 is the file itself.
_NODE = "md5(format('%%s %%s %%s', f, case when i = 0 then 0 else s end, i))::uuid"
_EDGES = f"""
insert into correlation_edges (parent_id, child_id, weight, role, at, digest)
select md5(format('%%s %%s %%s', f, case when i = 1 then 0 else s end, i - 1))::uuid, {_NODE}, 1, 2, '{AT}', ''
from generate_series(1, %(files)s) f, generate_series(1, %(series)s) s, generate_series(1, {STEPS}) i"""
_PATHS = f"""
insert into correlation_paths (ancestor_id, descendant_id, depth)
select md5(format('%%s %%s %%s', f, case when j = 0 then 0 else s end, j))::uuid, {_NODE}, i - j
from generate_series(1, %(files)s) f, generate_series(1, %(series)s) s, generate_series(1, {STEPS}) i, generate_series(0, {STEPS - 1}) j
where j < i"""
_RECURSIVE = """
with recursive down (id, depth) as (
  select child_id, 1 from correlation_edges where parent_id = %(id)s and not refused
  union
  select e.child_id, d.depth + 1 from down d join correlation_edges e on e.parent_id = d.id and not e.refused where d.depth < %(depth)s
)
select id, min(depth) from down group by id order by 2, 1 limit %(limit)s"""


def node(file: int, series: int, step: int) -> uuid.UUID:
    text = f"{file} {series if step else 0} {step}"
    return uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest())


def load(connection: psycopg.Connection[Any], pairs: int) -> tuple[int, int]:
    """Files and series of each, so that the closure has about so many rows."""
    files = max(1, round(pairs / ROWS / 500))
    series = max(1, round(pairs / ROWS / files))
    indexes = connection.execute(
        "select indexdef from pg_indexes where tablename = 'correlation_paths' and indexname = 'correlation_paths_down'"
    ).fetchone()
    assert indexes is not None
    began = time.perf_counter()
    connection.execute("truncate correlation_edges, correlation_paths")
    connection.execute("alter table correlation_paths drop constraint correlation_paths_pkey")
    connection.execute("drop index correlation_paths_down")
    connection.execute("set maintenance_work_mem = '512MB'")
    given = {"files": files, "series": series}
    connection.execute(_EDGES, given)  # type: ignore[arg-type]
    connection.execute(_PATHS, given)  # type: ignore[arg-type]
    connection.execute("alter table correlation_paths add primary key (descendant_id, ancestor_id) include (depth)")
    connection.execute(indexes[0])
    connection.execute("vacuum (analyze) correlation_paths, correlation_edges")
    rows, size = connection.execute(
        "select count(*), pg_total_relation_size('correlation_paths') from correlation_paths"
    ).fetchone()  # type: ignore[misc]
    edges = connection.execute("select count(*) from correlation_edges").fetchone()[0]  # type: ignore[index]
    print(
        f"\n{rows:,} pairs over {edges:,} edges ({files} files of {series} series of {STEPS} steps), "
        f"{size / rows:.0f} bytes a pair with its indexes; loaded in {time.perf_counter() - began:.0f} s",
        flush=True,
    )
    return files, series


def median(connection: psycopg.Connection[Any], sql: str, ids: list[uuid.UUID], depth: int, rounds: int) -> Any:
    """(median milliseconds, rows of the first) of a statement that is prepared and warm."""
    taken, first = [], None
    for turn in range(rounds + 1):
        for id_ in ids:
            began = time.perf_counter()
            rows = connection.execute(
                sql,
                {"id": id_, "depth": depth, "limit": 10_000_000},
                prepare=True,  # type: ignore[arg-type]
            ).fetchall()
            if turn:
                taken.append(time.perf_counter() - began)
            first = first if first is not None else rows
    return statistics.median(taken) * 1000, first


def questions(connection: psycopg.Connection[Any], files: int, series: int, rounds: int) -> None:
    ours = sqlfile.load("lineage/correlation")["descendants"].sql
    connection.execute("set plan_cache_mode = force_generic_plan")
    print("| descendants of | depth | nodes | closure | recursive CTE | times |")
    print("|---|---|---|---|---|---|")
    for name, ids in (
        ("a file", [node(f, 1, 0) for f in range(1, min(files, 3) + 1)]),
        ("the first step of a series", [node(1, s, 1) for s in range(1, min(series, 20) + 1)]),
    ):
        for depth in DEPTHS:
            closed, mine = median(connection, ours, ids, depth, rounds)
            walked, theirs = median(connection, _RECURSIVE, ids, depth, rounds)
            assert mine == theirs
            print(
                f"| {name} | {depth} | {len(mine):,} | {closed:.2f} ms | {walked:.2f} ms | {walked / closed:.1f} |",
                flush=True,
            )


async def told(database: Database, edges: list[tuple[uuid.UUID, uuid.UUID, int]], bound: int = BOUND) -> float:
    """Seconds of the transaction that an event's edges (parent, child, role) are written in, log and other tables apart."""
    rows = {CorrelationEdgeRow: [CorrelationEdgeRow(*edge, WHEN, b"") for edge in edges]}
    began = time.perf_counter()
    async with database.transaction() as connection:
        await connection.execute("set local plan_cache_mode = force_generic_plan")
        async with connection.pipeline() as pipeline:
            written = await projections.write(connection, pipeline, rows)
        await closure.update_closure(connection, written.correlated, bound=bound)
    return time.perf_counter() - began


async def inserts(database: Database, files: int, series: int) -> None:
    async def pairs() -> int:
        async with database.connection() as connection:
            row = await (await connection.execute("select count(*) from correlation_paths")).fetchone()
            return int(row[0])  # type: ignore[index]

    def step(inputs: list[uuid.UUID], outputs: int) -> list[tuple[uuid.UUID, uuid.UUID, int]]:
        run = uuid.uuid4()
        items = [uuid.uuid4() for _ in range(outputs)]
        contents = [(item, uuid.uuid4(), 3) for item in items]
        return [*((one, run, 1) for one in inputs), *((run, item, 2) for item in items), *contents]

    some = [node(1 + i % files, 1 + i % series, 30 + i % 30) for i in range(1000)]
    kinds = {
        "one input, 30 to 59 steps down; one output": [step([one], 1) for one in some[:200]],
        "three inputs, three outputs": [step(some[i : i + 3], 3) for i in range(0, 300, 3)],
        "one input; 1,000 outputs": [step([some[i]], 1000) for i in range(3)],
        "100 inputs, one output": [step(some[i : i + 100], 1) for i in range(0, 1000, 100)],
        "no ancestors, one output": [step([], 1) for _ in range(200)],
    }
    print("| an event with | edges | pairs | time (median) | an edge | a pair |")
    print("|---|---|---|---|---|---|")
    for name, events in kinds.items():
        before = await pairs()
        for event in events[:1]:
            await told(database, event)
        taken = [await told(database, event) for event in events[1:]]
        made = (await pairs() - before) / len(events)
        time_ = statistics.median(taken)
        edges = len(events[0])
        print(
            f"| {name} | {edges:,} | {made:,.0f} | {time_ * 1000:.2f} ms | {time_ / edges * 1e6:,.0f} µs | "
            f"{time_ / made * 1e6:,.1f} µs |",
            flush=True,
        )
    repeated = [await told(database, event) for event in kinds["three inputs, three outputs"]]
    print(f"the three and three told again: {statistics.median(repeated) * 1000:.2f} ms", flush=True)


async def bounds(database: Database, connection: psycopg.Connection[Any], days: int, series: int) -> None:
    """A job that reads its own result of the day before and a new file, for each series, every day, under several bounds."""
    print(f"\n{series} series, {days} days, each day reads the day before and a new file (4 edges a day and series)")
    print(
        "| bound | pairs | pairs a day and series | bytes a day and series | an event (median) | all ancestors of the last, exact |"
    )
    print("|---|---|---|---|---|---|")
    for bound in (16, 32, 50, 64, 128, 256):
        connection.execute("truncate correlation_edges, correlation_paths")
        taken, last = [], [uuid.uuid4() for _ in range(series)]
        for _ in range(days):
            for place in range(series):
                run, result = uuid.uuid4(), uuid.uuid4()
                edges = [(last[place], run, 1), (uuid.uuid4(), run, 1), (run, result, 2), (result, uuid.uuid4(), 3)]
                taken.append(await told(database, edges, bound))
                last[place] = result
        connection.execute("vacuum (analyze) correlation_paths, correlation_edges")
        rows, size = connection.execute(
            "select count(*), pg_total_relation_size('correlation_paths') from correlation_paths"
        ).fetchone()  # type: ignore[misc]
        beyond = sqlfile.load("lineage/correlation")["ancestors_beyond"].sql
        asked = []
        for _ in range(5):
            began = time.perf_counter()
            found = connection.execute(
                beyond, {"ids": last[:1], "bound": bound, "depth": 1_000_000_000, "limit": 10_000_000}
            ).fetchall()
            asked.append(time.perf_counter() - began)
        assert len(found) == days * 3
        each = days * series
        print(
            f"| {bound} | {rows:,} | {rows / each:.0f} | {size / each:,.0f} | {statistics.median(taken) * 1000:.2f} ms | "
            f"{statistics.median(asked) * 1000:.1f} ms ({len(found):,}) |",
            flush=True,
        )


async def work(options: argparse.Namespace, url: str) -> None:
    async with Database(url, pool_size=2, statement_timeout_seconds=600) as database:
        await migrate.migrate(database)
        with psycopg.connect(url, autocommit=True) as connection:
            if options.only in (None, "bound"):
                await bounds(database, connection, options.days, options.series)
            for pairs in options.pairs if options.only in (None, "questions") else ():
                files, series = load(connection, pairs)
                questions(connection, files, series, options.rounds)
                await inserts(database, files, series)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("questions", "bound"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--series", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-case-") as home:
        server = EmbeddedPostgres(Path(home) / "postgres")
        try:
            asyncio.run(work(options, server.url))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
