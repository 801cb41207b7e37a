"""Half an hour of load on an installed server: the slope of its memory, and retention that drops months of the log meanwhile.

`python -m tests.steady_load --minutes 27`. Writers and readers in turn, at a bounded rate, over names that soon all exist. A tenth of the events is
from months ago; `headwater retention run` drops those months again and again. These must hold at the end: every acknowledged event that
retention may not delete is in the log, once; no reply was an error but 503 with Retry-After; the memory of the last third is not above that of the
second by more than a tenth; and the tables are those of a second database that takes the same events, in another order, and drops no month. A
rebuild would not do: it refuses a log whose months were dropped.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import gzip
import http.client
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg

from headwater.intake.events.accept import Intake
from headwater.intake.upkeep.rebuild import fingerprints
from headwater.store.database import Database
from headwater.store.migrate import migrate
from tests.events import dataset, encoded, facet, run_event, schema
from tests.fixtures.machine import Machine

WRITERS, READERS = 3, 2
NAMES = 400
_OLD_DAYS = (100, 400)
_KEEP_DAYS = 60
_PORTION = 1000
READS = (
    "/api/v2/datasets?limit=100",
    "/api/v2/runs?limit=50",
    "/api/v2/search?q=out",
    "/api/v2/lineage?node=dataset:file:/out{}",
    "/api/v1/namespaces/test/jobs?limit=20",
    "/api/v2/status",
    "/readyz",
)


class Load:
    """Writers and readers until `stop`. `recent`: digests of acknowledged events that retention keeps. `bodies`: a line for each acknowledged event."""

    def __init__(self, machine: Machine, seed: int, pause: float, bodies: Path) -> None:
        self.machine, self.seed, self.pause = machine, seed, pause
        self.bodies = gzip.open(bodies, "wb", compresslevel=1)  # noqa: SIM115
        self.statuses: Counter[int] = Counter()
        self.odd: list[str] = []
        self.recent: set[str] = set()
        self.old = self.again = self.reads = 0
        self.lock = threading.Lock()
        self.stop = threading.Event()
        works = [(self._write, n) for n in range(WRITERS)] + [(self._read, n) for n in range(READERS)]
        self.threads = [threading.Thread(target=work, args=(number,)) for work, number in works]

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.bodies.close()

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes | None:
        """The answer; None where the server asked to try again."""
        connection = http.client.HTTPConnection("127.0.0.1", self.machine.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            reply = connection.getresponse()
            told = reply.read()
        with self.lock:
            self.statuses[reply.status] += 1
            if reply.status == 503 and reply.getheader("retry-after"):
                return None
            if reply.status >= 400 and not (method == "GET" and reply.status == 404):
                self.odd.append(f"{method} {path}: {reply.status} {told[:300]!r}")
        return told

    def _write(self, writer: int) -> None:
        draw, number = random.Random(f"{self.seed} {writer}"), 0
        while not self.stop.is_set():
            number += 1
            old = draw.random() < 0.1
            batch = [self._event(draw, writer, number, part, old) for part in range(draw.choice([1, 1, 1, 5, 40]))]
            one = len(batch) == 1
            path = "/api/v1/lineage" if one else "/api/v1/lineage/batch"
            body = batch[0] if one else b"[" + b",".join(batch) + b"]"
            while (told := self._ask("POST", path, body)) is None:
                self.again += 1
                time.sleep(0.5)
            reply = json.loads(told)
            with self.lock:
                ids = [receipt["id"] for receipt in ([reply] if one else reply.get("receipts", []))]
                self.bodies.writelines(each + b"\n" for each in batch)
                self.old += len(ids) if old else 0
                self.recent |= set() if old else set(ids)
            time.sleep(self.pause)

    def _event(self, draw: random.Random, writer: int, number: int, part: int, old: bool) -> bytes:
        ago = dt.timedelta(days=draw.uniform(*_OLD_DAYS)) if old else dt.timedelta(seconds=draw.uniform(0, 3600))
        event = run_event(
            draw.choice(["START", "COMPLETE", "COMPLETE", "FAIL"]),
            writer * 10_000_000_000 + number * 100 + part,
            f"job{draw.randrange(NAMES // 4)}",
            [dataset(f"/in{draw.randrange(NAMES)}")],
            [dataset(f"/out{draw.randrange(NAMES)}", **schema("a", f"c{draw.randrange(5)}"))],
            at=(dt.datetime.now(dt.UTC) - ago).isoformat(),
            run_facets={"which": facet(name=f"{writer} {number} {part}", text="x" * draw.choice((10, 10, 3000)))},
        )
        return encoded(event)

    def _read(self, reader: int) -> None:
        draw = random.Random(f"{self.seed} reader {reader}")
        while not self.stop.is_set():
            self._ask("GET", draw.choice(READS).format(draw.randrange(NAMES)))
            self.reads += 1
            time.sleep(self.pause)


def memory(machine: Machine) -> float:
    """MiB of the server and what it started, PostgreSQL apart."""
    total = 0
    family = psutil.Process(machine.pid())
    for process in [family, *family.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += 0 if process.name().startswith("postgres") else process.memory_info().rss
    return total / 2**20


async def _compare_tables(url: str, bodies: Path, seed: int) -> list[str]:
    """Compare the server's tables with those of a new database that takes the acknowledged events in another order."""
    name = "second"
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(f"create database {name}")
    with gzip.open(bodies) as lines:
        events = [line.rstrip(b"\n") for line in lines]
    random.Random(seed).shuffle(events)
    doubts = []
    async with Database(_sibling(url, name), pool_size=2) as second, Database(url, pool_size=2) as first:
        await migrate(second)
        intake = Intake(second)
        for start in range(0, len(events), _PORTION):
            if refused := (await intake.accept_each(events[start : start + _PORTION])).refused:
                doubts.append(f"acknowledged, and refused by another database: {refused[:2]}")
        loaded, again = await fingerprints(first), await fingerprints(second)
    return doubts + [f"{table} is not what its events make" for table in loaded if loaded[table] != again[table]]


def _sibling(url: str, name: str) -> str:
    """The address of another database of the same PostgreSQL."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def play(machine: Machine, seconds: float, seed: int, pause: float) -> tuple[dict[str, Any], list[str]]:
    """Return the summary of a run under load, and every doubt."""
    doubts: list[str] = []
    samples: list[tuple[float, float]] = []
    months, rounds = Counter[str](), 0
    began, due = time.monotonic(), 0.0
    bodies = machine.home / "acknowledged.gz"
    with Load(machine, seed, pause, bodies) as load:
        while (now := time.monotonic() - began) < seconds:
            samples.append((now, memory(machine)))
            if now >= due:
                due, rounds = now + max(2.0, min(30.0, seconds / 10)), rounds + 1
                done = machine.run("retention", "run", "--json")
                report = json.loads(done.stdout)
                doubts += [f"retention: {kind}" for kind in report["kinds"] if kind["error"]]
                months.update(month for kind in report["kinds"] for month in kind["months"])
            time.sleep(1)
    doubts += load.odd[:5]
    url = json.loads((machine.home / "headwater/server.json").read_text())["database_url"]
    with psycopg.connect(url, autocommit=True) as asking:
        log = [
            row[0].hex()
            for row in asking.execute("select digest from events where event_time > now() - interval '30 days'")
        ]
    doubts += [f"{len(log) - len(set(log))} events are in the log twice"] if len(log) != len(set(log)) else []
    if missing := load.recent - set(log):
        doubts.append(f"{len(missing)} of {len(load.recent)} acknowledged events are lost")
    doubts += asyncio.run(_compare_tables(url, bodies, seed))
    third = len(samples) // 3
    second, last = ([mib for _, mib in part] for part in (samples[third : 2 * third], samples[2 * third :]))
    slope = statistics.linear_regression(*zip(*samples[third:], strict=True)).slope * 3600
    if statistics.fmean(last) > statistics.fmean(second) * 1.1:
        doubts.append(f"memory grows: {statistics.fmean(second):.0f} MiB, then {statistics.fmean(last):.0f} MiB")
    seen = {
        "seconds": round(seconds), "acknowledged": len(load.recent) + load.old, "recent": len(load.recent), "sent_again": load.again,
        "reads": load.reads, "statuses": dict(sorted(load.statuses.items())), "retention_runs": rounds,
        "months_dropped": sum(months.values()), "memory_mib": {
            "second_third": round(statistics.fmean(second), 1), "last_third": round(statistics.fmean(last), 1),
            "most": round(max(mib for _, mib in samples), 1), "slope_per_hour": round(slope, 1)},
    }  # fmt: skip
    if not months:
        doubts.append("retention dropped no month")
    return seen, doubts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=27)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between the requests of a client")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-load-") as folder:
        machine = Machine(Path(folder))
        machine.env |= {"HEADWATER_RETENTION__EVENTS_DAYS": str(_KEEP_DAYS)}
        machine.up()
        try:
            seen, doubts = play(machine, given.minutes * 60, given.seed, given.pause)
        finally:
            machine.run("down")
    print(json.dumps(seen), flush=True)
    sys.exit("\n".join(doubts) if doubts else 0)


if __name__ == "__main__":
    main()
