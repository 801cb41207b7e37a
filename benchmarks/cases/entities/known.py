"""The questions to a filled server: readiness, the past, and its size in bytes."""

import time

import psycopg
from filled import Bench
from load import get, post
from msgspec import json
from table import Row

MIB = 2**20
TABLES = ("status_reports", "status_changes", "status_marks", "instance_versions", "instance_reads")


def select_one(bench: Bench, times: int) -> list[float]:
    """Milliseconds of the least that a database can be asked, over one connection."""
    found = []
    with psycopg.connect(bench.server.database_url, autocommit=True) as connection:
        for _ in range(times):
            began = time.perf_counter()
            connection.execute("select 1").fetchone()
            found.append((time.perf_counter() - began) * 1000)
    return sorted(found)


def readiness(bench: Bench) -> list[Row]:
    names = list(bench.held.ids)
    bench.get(f"/api/v2/entities/{names[0]}/readiness?instances={bench.key(names[0])}", 3)
    asked = [(name, bench.key(name, bench.chance.randrange(100))) for name in bench.chance.choices(names, k=2_000)]
    least = bench.get("/readyz", 1_000)
    one = bench.drive([get(f"/api/v2/entities/{name}/readiness?instances={key}") for name, key in asked])
    four = bench.drive([get(f"/api/v2/entities/{name}/readiness?instances={key}") for name, key in asked], 4)
    many = [
        {"ask": [{"entity": name, "instances": [bench.key(name, bench.chance.randrange(100))]} for name in some]}
        for some in (bench.chance.choices(names, k=1_000) for _ in range(20))
    ]
    batch = bench.drive([post("/api/v2/readiness", json.encode(each)) for each in many])
    select = select_one(bench, 1_000)
    beside = f"/readyz p50 {least.at(0.5):.1f} ms, {least.cpu}; a bare select 1 p50 {select[500]:.2f}, p99 {select[990]:.2f} ms"
    each = f"p50 {batch.at(0.5):.0f} ms, {batch.cpu}; {len(batch.outcome.last) / 1024:,.0f} KiB"
    return [
        Row("readiness of one instance, p99", one.at(0.99), "ms", least.at(0.99), 10, note=f"p50 {one.at(0.5):.1f} ms, {one.cpu}; {beside}"),
        Row("the same over four connections, p99", four.at(0.99), "ms", note=f"p50 {four.at(0.5):.1f} ms, {four.outcome.rate:,.0f}/s"),
        Row("readiness of 1,000 instances in one request, p99 of 20", batch.at(0.99), "ms", target=300, note=each),
    ]  # fmt: skip


def as_of(bench: Bench) -> list[Row]:
    """Three years back, when only the beginning was known, and a day back, for which everything since has to be gone through."""
    rows = []
    single = "entity_0"  # every hour of it was reported by itself
    for when, day in (("three years", bench.since), ("a day", bench.until)):
        moment = f"as_of={day:%Y-%m-%d}T12:00:00Z"
        names = bench.chance.sample(list(bench.held.ids), 50)
        paths = [f"/api/v2/entities/{name}/readiness?instances={bench.key(name)}&{moment}" for name in names]
        for what, taken in (
            (
                "status, the last 60 of 26,000 single reports",
                bench.get(f"/api/v2/entities/{single}/status?{moment}", 5),
            ),
            ("status, all of them", bench.get(f"/api/v2/entities/{single}/status?instances=*&{moment}", 5)),
            ("readiness, 50 entities", bench.drive([get(path) for path in paths])),
        ):
            name = f"as of {when} back: {what}, the slowest"
            rows.append(Row(name, taken.at(1), "ms", target=1_000, note=f"p50 {taken.at(0.5):.1f} ms, {taken.cpu}"))
    return rows


def stored(bench: Bench) -> list[Row]:
    rows, total = [], 0
    with psycopg.connect(bench.server.database_url, autocommit=True) as connection:
        for table in TABLES:
            size, count = connection.execute(
                f"select pg_total_relation_size('{table}'), (select count(*) from {table})"
            ).fetchone()  # type: ignore[misc]
            total += size
            note = f"{count:,} rows, {size / max(count, 1):.0f} bytes each with indexes"
            rows.append(Row(f"table {table}", size / MIB, "MiB", note=note))
        query = "select sum(end_ - start_) from status_marks where kind = 'state'"
        (instances,) = connection.execute(query).fetchone()  # type: ignore[misc]
    note = f"{int(instances):,} instances that are there: {total / float(instances):.2f} bytes each"
    rows.append(Row("all of them", total / MIB, "MiB", note=note))
    bench.get(f"/api/v2/entities/{bench.hourly[0]}/readiness?instances={bench.key(bench.hourly[0])}")
    memory = bench.server.memory() / MIB
    return [*rows, Row("memory of the server once it was asked", memory, "MiB", note="resident, without PostgreSQL")]
