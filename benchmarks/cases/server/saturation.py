"""Rate against latency as more clients send, with one worker and with two, and readers beside a load.

    python benchmarks/cases/server/saturation.py [--workers 1 2] [--connections 1 4 16 64] [--events 800] [--soak SECONDS]

Each point of the curve sends events one by one over so many connections. The knee is the first point after which the rate grows by less than a tenth.
Beside: a reader asks for the lineage of 100 nodes and searches, alone and while two clients send batches of 500 without a pause. `--soak` sends
single events at 70 % of the knee's rate and prints 99th percentile and memory by quarters.
"""

import argparse
import itertools
import threading
import time
from pathlib import Path

from catalogue import Catalogue, encoded
from fresh import Server, fresh
from load import Outcome, drive, get, post
from shapes import Pipeline, dataset_id, plain
from table import HOME, Row, said

MIB = 1024 * 1024


def ask(server: Server, paths: dict[str, str], seconds: float) -> dict[str, Outcome]:
    """Ask in turn, one request at a time, for so long."""
    outcomes = {name: Outcome() for name in paths}
    until = time.monotonic() + seconds
    for name in itertools.cycle(paths):
        if time.monotonic() > until:
            return outcomes
        one = drive(server.port, [get(paths[name])], seconds=30.0)
        if one.failed or one.cut:
            raise SystemExit(f"{name}: {one.statuses}")
        outcomes[name].milliseconds += one.milliseconds
    return outcomes


def curve(server: Server, bodies: list[bytes], connections: list[int], events: int, of: str) -> tuple[list[Row], float]:
    """Return a row for each point of the curve, and the knee's rate."""
    rows: list[Row] = []
    rates: list[float] = []
    for count in connections:
        part, bodies = bodies[:events], bodies[events:]
        outcome = drive(server.port, [post("/api/v1/lineage", body) for body in part], count)
        if outcome.failed:
            raise SystemExit(f"the server refused events: {outcome.statuses}")
        rates.append(outcome.rate)
        note = f"p50 {outcome.at(0.5):.1f} ms, p99 {outcome.at(0.99):.1f} ms"
        rows.append(
            Row(f"{of}, single events over {count} connections", outcome.rate, "events/s", better="more", note=note)
        )
    knee = next((at for at, (one, two) in enumerate(itertools.pairwise(rates)) if two < 1.1 * one), len(rates) - 1)
    rows[knee].note += "; the knee"
    return rows, rates[knee]


def beside(server: Server, batches: list[bytes], of: str, seconds: float) -> list[Row]:
    """Rows of two answers, alone and beside batches."""
    paths = {
        "lineage of 100 nodes": f"/api/v2/lineage?node={dataset_id(Pipeline('read', 49).end)}&depth=20&max_nodes=1000",
        "search": "/api/v2/search?q=orders",
    }
    ask(server, paths, 1.0)
    alone = ask(server, paths, seconds)
    sent: list[Outcome] = []
    sending = threading.Thread(target=lambda: sent.append(server.batches(batches)))
    sending.start()
    busy = {name: Outcome() for name in paths}
    while sending.is_alive():
        for name, outcome in ask(server, paths, 0.5).items():
            busy[name].milliseconds += outcome.milliseconds
    sending.join()
    rows = [
        Row(
            f"{of}, batches of 500 over 2 connections, a reader beside",
            len(batches) / sent[0].seconds,
            "events/s",
            better="more",
        )
    ]
    for name, outcome in busy.items():
        by_itself = alone[name]
        note = f"p50 {outcome.at(0.5):.1f} ms of {len(outcome.milliseconds)}; alone p50 {by_itself.at(0.5):.1f}, p99 {by_itself.at(0.99):.1f} ms"
        rows.append(Row(f"{of}, {name} beside batches: p99", outcome.at(0.99), "ms", by_itself.at(0.99), note=note))
    return rows


def soak(server: Server, rate: float, seconds: float, of: str) -> list[Row]:
    """Rows of the quarters of a load at this rate."""
    rows: list[Row] = []
    made = Catalogue(400, seed=9).events(int(rate * seconds) + 16)
    for quarter in range(4):
        outcome, until = Outcome(), time.monotonic() + seconds / 4
        while time.monotonic() < until:
            began = time.monotonic()
            one = drive(
                server.port, [post("/api/v1/lineage", body) for body in encoded(list(itertools.islice(made, 16)))], 16
            )
            outcome.milliseconds += one.milliseconds
            time.sleep(max(0.0, began + 16 / rate - time.monotonic()))
        note = f"{len(outcome.milliseconds):,} events at {rate:.0f}/s; {server.memory() / MIB:.0f} MiB after it"
        rows.append(Row(f"{of}, soak, quarter {quarter + 1}: p99", outcome.at(0.99), "ms", note=note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--events", type=int, default=800, help="for each point")
    parser.add_argument("--batched", type=int, default=8_000, help="events in batches, a reader beside")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds")
    parser.add_argument("--json", type=Path, default=HOME / "saturation.json", help="where the figures are written too")
    given = parser.parse_args()
    rows: list[Row] = []
    for workers in given.workers:
        singles = given.events * len(given.connections)
        bodies = encoded(list(Catalogue(400).events(1_000 + singles + given.batched)))
        of = f"{workers} worker{'s' * (workers > 1)}"
        with fresh(HEADWATER_SERVER__WORKERS=str(workers)) as server:
            server.batches(encoded(list(plain(Pipeline("read", 49)))) + bodies[:1_000])
            points, knee = curve(server, bodies[1_000 : 1_000 + singles], given.connections, given.events, of)
            rows += points + beside(server, bodies[1_000 + singles :], of, 3.0)
            if given.soak:
                rows += soak(server, 0.7 * knee, given.soak, of)
            rows.append(Row(f"{of}, memory", server.memory() / MIB, "MiB"))
    said(rows, given.json)


if __name__ == "__main__":
    main()
