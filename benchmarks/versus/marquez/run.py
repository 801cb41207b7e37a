"""The same load and the same questions to Headwater and to Marquez, in turn, on the same machine and PostgreSQL.

    python benchmarks/versus/marquez/setup.py --source FOLDER
    python benchmarks/versus/marquez/run.py [--only ingest|tables|hub|columns|page] [--cap 60]

Both are asked through `/api/v1`, with Marquez's own paths. Each case gives each server a new database with the same events; what does not answer in
`--cap` seconds is written as more than that. Sizes are what Marquez can bear. Marquez has no batch endpoint, so it is filled over 16 connections.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec
import psycopg

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "benchmarks/cases/server"))

from catalogue import Catalogue, Event, encoded  # noqa: E402
from fresh import Server, Watch, fresh  # noqa: E402
from load import drive, get, post  # noqa: E402
from peer import Marquez, marquez  # noqa: E402
from shapes import Pipeline, columned, dataset_id, field_id, hub, plain  # noqa: E402
from table import shown  # noqa: E402

CONNECTIONS = 16
MIB = 1024 * 1024
ONLY = ("ingest", "tables", "hub", "columns", "page")
Peer = Server | Marquez

_TABLES = """
select sum(pg_total_relation_size(c.oid))::float8 from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname = 'public'
"""


@dataclass
class Told:
    """One figure; None with a note when there is none."""

    value: float | None
    note: str = ""


@dataclass
class Line:
    what: str
    unit: str
    better: str = "less"
    told: dict[str, Told] = field(default_factory=dict)


@contextmanager
def headwater() -> Iterator[Server]:
    with fresh() as server:
        yield server


SERVERS: dict[str, Callable[[], object]] = {"Headwater": headwater, "Marquez": marquez}


def filled(server: Peer, events: list[Event], cap: float) -> None:
    """Every event, one by one; ten times the cap is too long."""
    outcome = drive(server.port, [post("/api/v1/lineage", body) for body in encoded(events)], CONNECTIONS, 10 * cap)
    if outcome.cut or outcome.failed:
        sys.exit(
            f"{type(server).__name__} was not filled: {outcome.statuses}, {outcome.seconds:.0f} s: {outcome.last!r:.300}"
        )
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


def asked(server: Peer, path: str, cap: float) -> Told:
    """The median of five answers after a first one, as far as they come in time."""
    first = drive(server.port, [get(path)], 1, cap)
    if first.cut:
        if isinstance(server, Marquez):
            server.forget_questions()
        return Told(None, f"> {cap:.0f} s")
    if first.failed:
        return Told(None, f"HTTP {next(iter(first.statuses))}")
    answer = msgspec.json.decode(first.last)
    count = len(answer.get("graph", answer.get("jobs", [])))
    again = drive(server.port, [get(path)] * 5, 1, cap)
    times = again if again.milliseconds else first
    return Told(
        times.at(0.5), f"{count:,} {'nodes' if 'graph' in answer else 'rows'}, {len(first.last) / 1024:,.0f} KiB"
    )


def questions(lines: dict[str, Line], name: str, server: Peer, asking: dict[str, str], cap: float) -> None:
    for what, path in asking.items():
        lines.setdefault(what, Line(what, "ms")).told[name] = asked(server, path, cap)


def stored(server: Peer) -> float:
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("vacuum")
        return float(connection.execute(_TABLES).fetchone()[0])  # type: ignore[index]


def ingest(lines: dict[str, Line], name: str, server: Peer, args: argparse.Namespace) -> None:
    """The first tenth of the events is not counted: a JVM is slow until it has seen some."""
    idle = server.memory()
    requests = [post("/api/v1/lineage", body) for body in encoded(list(Catalogue(200).events(args.events)))]
    cold = len(requests) // 10
    drive(server.port, requests[:cold], CONNECTIONS, args.cap)
    before = stored(server)
    with Watch(server) as watch:
        outcome = drive(server.port, requests[cold:], CONNECTIONS, args.cap)
    kept = len(outcome.milliseconds)
    each = (stored(server) - before) / max(kept, 1)
    note = f"{kept:,} events" + (f", {outcome.failed:,} refused" if outcome.failed else "")
    for what, unit, better, told in (
        (f"POST one by one, {CONNECTIONS} connections", "events/s", "more", Told(outcome.rate, note)),
        ("the same, p99", "ms", "less", Told(outcome.at(0.99))),
        ("stored for an event, indexes and log included", "bytes", "less", Told(each, note)),
        ("memory of the server, idle", "MiB", "less", Told(idle / MIB)),
        ("the most under load", "MiB", "less", Told(watch.peak / MIB)),
    ):
        lines.setdefault(what, Line(what, unit, better)).told[name] = told


def tables(lines: dict[str, Line], name: str, server: Peer, args: argparse.Namespace) -> None:
    pipeline = Pipeline("versus", args.jobs)
    filled(server, list(plain(pipeline)), args.cap)
    asking = {
        f"lineage in a graph of {args.jobs:,} jobs, depth {depth}": f"/api/v1/lineage?nodeId={dataset_id(pipeline.end)}&depth={depth}"
        for depth in (2, 4, 20)
    }
    questions(lines, name, server, asking, args.cap)


def hubs(lines: dict[str, Line], name: str, server: Peer, args: argparse.Namespace) -> None:
    filled(server, list(hub(args.readers)), args.cap)
    asking = {
        f"one table read by {args.readers:,} jobs, depth {depth}": f"/api/v1/lineage?nodeId={dataset_id('hub/dimension')}&depth={depth}"
        for depth in (1, 2, 4)
    }
    questions(lines, name, server, asking, args.cap)


def columns(lines: dict[str, Line], name: str, server: Peer, args: argparse.Namespace) -> None:
    pipeline = Pipeline("columned", args.column_edges // 20)
    filled(server, list(columned(pipeline)), args.cap)
    middle = pipeline.table(3, 3)
    asking = {
        f"column lineage with downstream, {args.column_edges:,} column edges, one column, depth {depth}": (
            f"/api/v1/column-lineage?nodeId={field_id(middle, 'column_3')}&depth={depth}&withDownstream=true"
        )
        for depth in (2, 4, 7, 20)
    }
    questions(lines, name, server, asking, args.cap)


def page(lines: dict[str, Line], name: str, server: Peer, args: argparse.Namespace) -> None:
    filled(server, list(Catalogue(args.listed).events(2 * args.runs)), args.cap)
    asking = {
        f"GET /jobs?limit={limit} of {args.listed:,} jobs with {args.runs:,} runs": f"/api/v1/jobs?limit={limit}"
        for limit in (20, 100)
    }
    questions(lines, name, server, asking, args.cap)


CASES = {"ingest": ingest, "tables": tables, "hub": hubs, "columns": columns, "page": page}


def said(lines: list[Line], write_to: Path) -> None:
    one, two = SERVERS
    print(f"| what | {one} | {two} | times |")
    print("|---|---|---|---|")
    for line in lines:
        cells = [line.told.get(name, Told(None, "not asked")) for name in SERVERS]
        texts = [
            f"{shown(cell.value)} {line.unit}" + (f" ({cell.note})" if cell.note else "")
            if cell.value is not None
            else cell.note
            for cell in cells
        ]
        ours, theirs = (cell.value for cell in cells)
        times = ""
        if ours and theirs:
            times = f"{theirs / ours if line.better == 'less' else ours / theirs:,.1f}"
        print(f"| {line.what} | {' | '.join(texts)} | {times} |")
    write_to.parent.mkdir(parents=True, exist_ok=True)
    write_to.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=ONLY, action="append")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds for an answer")
    parser.add_argument("--events", type=int, default=4_000, help="at most, one by one, within the cap")
    parser.add_argument("--jobs", type=int, default=2_000)
    parser.add_argument("--readers", type=int, default=2_000)
    parser.add_argument("--column-edges", type=int, default=20_000)
    parser.add_argument("--listed", type=int, default=500, help="jobs of the page")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument(
        "--json", type=Path, default=ROOT / ".tools/versus/marquez.json", help="where the figures are written too"
    )
    args = parser.parse_args()
    lines: dict[str, Line] = {}
    for case in args.only or ONLY:
        for name, started in SERVERS.items():
            with started() as server:  # type: ignore[attr-defined]
                CASES[case](lines, name, server, args)
            print(f"{case}: {name} done", file=sys.stderr, flush=True)
    said(list(lines.values()), args.json)


if __name__ == "__main__":
    main()
