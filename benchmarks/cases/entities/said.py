"""Reports to a filled server: one report a request for a while, all entities at the top of an hour, and clients that wait for one of them."""

import asyncio
import datetime as dt
import statistics
import threading
import time

import msgspec
import psycopg
from filled import Bench
from load import drive, get, post
from table import Row

CONNECTIONS = 32


def report(bench: Bench, name: str, ahead: int) -> dict[str, object]:
    """Return the report of a scheduler after a run: with what readiness had answered."""
    return {
        "entity": name,
        "what": "produced",
        "instances": [bench.ahead(name, ahead)],
        "ref": f"{name}_{ahead}",
        "at": dt.datetime.now(dt.UTC).isoformat(),
        "code": "v1",
        "reads": [{"entity": link.upstream, "instances": [bench.key(link.upstream)]} for link in bench.held.graph.upstream(name)],
    }  # fmt: skip


def requests(bench: Bench, count: int, each: int, ahead: int) -> list[bytes]:
    """Every entity in turn, and after the last one the next instance of each."""
    names = list(bench.held.ids)
    told = [report(bench, names[n % len(names)], ahead + n // len(names)) for n in range(count * each)]
    return [
        post("/api/v2/instances", msgspec.json.encode({"reports": told[at : at + each]}))
        for at in range(0, len(told), each)
    ]


def inserts(bench: Bench, connections: int, seconds: float = 3.0) -> float:
    """Rows a second of one-row transactions in the same PostgreSQL: what a write that is durable at its answer can be at most."""
    with psycopg.connect(bench.server.database_url, autocommit=True) as connection:
        connection.execute("drop table if exists physical_limit")
        connection.execute("create table physical_limit (body jsonb not null)")
    body = msgspec.json.encode(report(bench, bench.hourly[0], 0)).decode()

    async def run() -> float:
        async def one() -> int:
            count = 0
            async with await psycopg.AsyncConnection.connect(bench.server.database_url, autocommit=True) as connection:
                while time.perf_counter() < began + seconds:
                    await connection.execute("insert into physical_limit values (%s)", (body,))
                    count += 1
            return count

        began = time.perf_counter()
        return sum(await asyncio.gather(*(one() for _ in range(connections)))) / seconds

    return asyncio.run(run())


def sustained(bench: Bench) -> list[Row]:
    bench.drive(requests(bench, 500, 1, 10), CONNECTIONS)
    probe = bench.drive(requests(bench, 500, 1, 11), CONNECTIONS)
    count = int(probe.outcome.rate * bench.seconds) + 1
    one = bench.drive(requests(bench, count, 1, 12), CONNECTIONS)
    hundred = bench.drive(requests(bench, 200, 100, 40), 2)
    alone, many = inserts(bench, 1), inserts(bench, 8)
    note = f"p50 {one.at(0.5):.1f} ms, p99 {one.at(0.99):.1f} ms, {one.cpu}; limit: one-row transactions over 8 connections, {alone:,.0f}/s over one"
    what = f"reports, one a request, {CONNECTIONS} connections, {one.outcome.seconds:.0f} s"
    rate = hundred.outcome.rate * 100
    of_hundred = f"p50 {hundred.at(0.5):.0f} ms, {hundred.cpu}"
    return [
        Row(what, one.outcome.rate, "reports/s", many, 2_000, "more", note),
        Row("reports, a hundred a request, 2 connections", rate, "reports/s", many, 2_000, "more", of_hundred),
    ]


def burst(bench: Bench) -> list[Row]:
    names = list(bench.held.ids)
    one = bench.drive(requests(bench, len(names), 1, 100), 64)
    what = f"every one of {len(names):,} entities reports at once, 64 connections"
    return [Row(what, one.outcome.seconds, "s", target=10, note=f"p99 {one.at(0.99):.0f} ms, {one.cpu}")]


def woken(bench: Bench) -> list[Row]:
    """From the answer to a report to the answer to who waited for it."""
    name = next(name for name in bench.held.ids if bench.held.graph.upstream(name))
    upstream, *others = [link.upstream for link in bench.held.graph.upstream(name)]
    late: list[float] = []
    for turn in range(20):
        ahead = 200 + turn
        for other in others:
            bench.post("/api/v2/instances", {"reports": [report(bench, other, ahead)]})
        done: list[float] = []

        def wait(ahead: int = ahead, done: list[float] = done) -> None:
            path = f"/api/v2/entities/{name}/readiness?instances={bench.ahead(name, ahead)}&wait=30"
            outcome = drive(bench.server.port, [get(path)], 1, 60.0)
            if not msgspec.json.decode(outcome.last)["ready"]:
                raise SystemExit(f"{name} was not ready: {outcome.last!r:.300}")
            done.append(time.perf_counter())

        waiter = threading.Thread(target=wait)
        waiter.start()
        time.sleep(0.3 + bench.chance.random() * 0.3)
        if done:
            raise SystemExit(f"{name} had nothing to wait for: this server was asked before; fill a new one")
        bench.post("/api/v2/instances", {"reports": [report(bench, upstream, ahead)]})
        written = time.perf_counter()
        waiter.join()
        late.append(max(done[0] - written, 0.0))
    what = "a waiting sensor wakes after the write, the slowest of 20"
    return [Row(what, max(late), "s", target=1, note=f"median {statistics.median(late):.2f} s")]
