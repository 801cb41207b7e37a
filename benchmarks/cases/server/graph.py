"""Questions to graphs: how long an answer of a known size takes, over HTTP, as the graph around it grows.

    python benchmarks/cases/server/graph.py [--only tables|hub|columns|page] [--sizes 1000 10000 100000] [--full] [--against SRC]

Times are of one connection, from the request's first byte to the answer's last. The limit beside each is the floor (`floor.py`): a bare Granian
application that encodes the same structs anew for each request, asked in turn with the server. Each graph has a server of its own, filled through the
batch endpoint, then vacuumed and analyzed.
`--full` adds a million jobs.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from catalogue import Catalogue, Event, encoded
from floor import floor
from fresh import Server, fresh
from load import Outcome, drive, get
from shapes import Pipeline, columned, dataset_id, field_id, hub, pipelines, plain
from table import HOME, Row, said

ONLY = ("tables", "hub", "columns", "page")
# Seconds for one answer, and for the first answers of a question.
_PATIENCE = 30.0
# Turns that are not measured.
_WARM = 5
LINEAGE = ("v2 lineage", "v1 lineage")
V2, V1 = "/api/v2/lineage", "/api/v1/lineage"


class Servers(NamedTuple):
    """The server that is measured, and one of an older version to compare it with."""

    now: Server
    former: Server | None


@contextmanager
def started(against: Path | None) -> Iterator[Servers]:
    """Start a server, and another from the sources in `against`."""
    with ExitStack() as stack:
        former = stack.enter_context(fresh(PYTHONPATH=str(against.resolve()))) if against else None
        yield Servers(stack.enter_context(fresh()), former)


def fill(servers: Servers, events: Iterable[Event]) -> float:
    """Load the events into each server, a slice at a time; the seconds the first took."""
    seconds, waiting = 0.0, iter(events)
    while part := list(islice(waiting, 20_000)):
        bodies = encoded(part)
        seconds += servers.now.batches(bodies).seconds
        if servers.former:
            servers.former.batches(bodies)
    for server in servers:
        if server:
            server.settle()
    return seconds


def size_of(body: bytes) -> tuple[int, int]:
    """Nodes and edges (column edges where there are any) of an answer of either API; of a page, its rows and 0."""
    told = msgspec.json.decode(body)
    if "graph" in told:
        return len(told["graph"]), sum(len(node["inEdges"]) for node in told["graph"])
    if "nodes" in told:
        return len(told["nodes"]), len(told["column_edges"] or told["edges"])
    return len(told["jobs"]), 0


@dataclass
class Question:
    """One question on several graphs. `kind`: of its answer (`floor.decoders`); `times`: the bound on the median, as a multiple of the floor, or
    of the median of the `beside`-th question asked with it. `wanted` nodes are expected in an answer at least: a fast answer that lacks half of
    it is no answer.
    """

    name: str
    kind: str
    paths: list[str]
    times: float
    wanted: int = 0
    beside: int | None = None


def asked(servers: Servers, questions: Sequence[Question], repeats: int) -> list[Row]:
    """Ask each question and its floor in turn, a path each time; two rows for each question: the median, and the 99th percentile, which may be twice
    its bound.
    """
    server, former = servers
    rows, open_, floors, bodies = [], [], [], []
    with ExitStack() as stack:
        for question in questions:
            first = drive(server.port, [get(path) for path in question.paths], seconds=_PATIENCE, keep=True)
            if first.failed or not first.bodies:
                note = f"HTTP {next(iter(first.statuses))}" if first.failed else f"none in {_PATIENCE:.0f} s"
                print(f"{question.name}: {note}", file=sys.stderr, flush=True)
                rows.append(Row(question.name, None, "ms", note=note))
                continue
            open_.append(question)
            bodies.append(first.bodies)
            floors.append(stack.enter_context(floor(question.kind, first.bodies)))
        ours, bare, theirs = ([Outcome() for _ in open_] for _ in range(3))
        for turn in range(min(repeats, _WARM) + repeats):
            for question, port, answers, mine, its, old in zip(open_, floors, bodies, ours, bare, theirs, strict=True):
                path = turn % len(answers)
                one = drive(server.port, [get(question.paths[path])], seconds=_PATIENCE)
                other = drive(port, [get(f"/{path}")], seconds=_PATIENCE)
                if one.failed or one.cut or len(other.last) != len(answers[path]):
                    sys.exit(f"{question.name}: {one.statuses}, floor {other.statuses} of {len(other.last)} bytes")
                if turn >= min(repeats, _WARM):
                    mine.milliseconds += one.milliseconds
                    its.milliseconds += other.milliseconds
                    if former:
                        again = drive(former.port, [get(question.paths[path])], seconds=_PATIENCE)
                        old.milliseconds += again.milliseconds
    for question, answers, mine, its, old in zip(open_, bodies, ours, bare, theirs, strict=True):
        nodes, edges = size_of(answers[0])
        note = f"{nodes:,} nodes, {edges:,} edges, {len(answers[0]) / 1024:,.0f} KiB; {repeats} requests"
        if nodes < question.wanted:
            note += f"; **incomplete: {question.wanted:,} nodes expected**"
        of = its.at(0.5) if question.beside is None else ours[question.beside].at(0.5)
        note += f"; floor {its.at(0.5):.2f} ms, load {os.getloadavg()[0]:.1f}"
        if old.milliseconds:
            note += f"; before {old.at(0.5):.1f} ms, {old.at(0.5) / its.at(0.5):.1f} times the floor"
        print(f"{question.name}: {mine.at(0.5):.1f} ms, {note}", file=sys.stderr, flush=True)
        rows += [
            Row(f"{question.name}: median", mine.at(0.5), "ms", its.at(0.5), question.times * of, note=note),
            Row(f"{question.name}: p99", mine.at(0.99), "ms", its.at(0.5), 2 * question.times * of),
        ]
    return rows


def both(
    name: str, paths: tuple[list[str], list[str]], kinds: tuple[str, str], times: float, wanted: int = 0
) -> list[Question]:
    """The same question at either API: the older one's bound is 1.3 times what the newer one takes."""
    return [
        Question(f"{name}, /api/v2", kinds[0], paths[0], times, wanted),
        Question(f"{name}, /api/v1", kinds[1], paths[1], 1.3, wanted, beside=0),
    ]


def v2(name: str, depth: int = 20, **more: str) -> str:
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    return f"{V2}?node={dataset_id(name)}&depth={depth}&max_nodes=100000{rest}"


def v1(name: str, depth: int = 20) -> str:
    return f"{V1}?nodeId={dataset_id(name)}&depth={depth}"


def tables(sizes: Sequence[int], against: Path | None) -> list[Row]:
    rows = []
    for size in sizes:
        graph = pipelines(size)
        kinds = {
            "100 nodes": ([one for one in graph if one.jobs == 49], 200, 6.0),
            "1,000 nodes": ([one for one in graph if one.jobs == 499], 60, 4.0),
            "40,000 edges": ([one for one in graph if one.jobs == 13_334], 8, 3.0),
        }
        with started(against) as servers:
            seconds = fill(servers, (event for pipeline in graph for event in plain(pipeline)))
            rows.append(Row(f"graph of {size:,} jobs: filled", size / seconds, "events/s", better="more"))
            for kind, (chosen, repeats, times) in kinds.items():
                if not chosen:
                    continue
                some = chosen[:: max(1, len(chosen) // 50)]
                paths = [v2(one.end) for one in some], [v1(one.end) for one in some]
                name = f"graph of {size:,} jobs, {kind}"
                rows += asked(servers, both(name, paths, LINEAGE, times, chosen[0].nodes), repeats)
    return rows


def hubs(readers: int, against: Path | None) -> list[Row]:
    with started(against) as servers:
        fill(servers, hub(readers))
        paths = [v2("hub/dimension", 4)], [v1("hub/dimension", 4)]
        name, wanted = f"one table read by {readers:,} jobs, depth 4", 2 * readers + 1
        reader = Question(
            f"{name}, from one of its readers, /api/v1", "v1 lineage", [v1("hub/fact_0007", 4)], 1.3, wanted, beside=0
        )
        return asked(servers, [*both(name, paths, LINEAGE, 4.0, wanted), reader], 30)


def columns(edges: int, against: Path | None) -> list[Row]:
    jobs = 400
    graph = [Pipeline(f"columned_{number}", jobs) for number in range(max(1, edges // (20 * jobs)))]
    # From the middle, both ways have something to find.
    middles = [one.table(4, 3) for one in graph]
    with started(against) as servers:
        fill(servers, (event for pipeline in graph for event in columned(pipeline)))
        newer = [v2(name, columns="true", field="column_3") for name in middles]
        fields = [
            f"/api/v1/column-lineage?nodeId={field_id(name, 'column_3')}&depth=20&withDownstream=true"
            for name in middles
        ]
        whole = [f"/api/v1/column-lineage?nodeId={dataset_id(name)}&depth=20&withDownstream=true" for name in middles]
        of = f"{edges:,} column edges, both ways, depth 20"
        questions = both(f"{of}, one column", (newer, fields), ("v2 lineage", "v1 columns"), 4.0)
        tens = Question(f"{of}, a table's ten columns, /api/v1", "v1 columns", whole, 4.0)
        return asked(servers, [*questions, tens], 60)


def page(jobs: int, runs: int, against: Path | None) -> list[Row]:
    with started(against) as servers:
        fill(servers, Catalogue(jobs).events(2 * runs))
        of = f"first 100 of {jobs:,} jobs with {runs:,} runs"
        paths = ["/api/v2/jobs?limit=100"], ["/api/v1/jobs?limit=100"]
        return asked(servers, both(of, paths, ("v2 jobs", "v1 jobs"), 5.0, 100), 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=ONLY, action="append")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="jobs in the graphs of `tables`"
    )
    parser.add_argument("--full", action="store_true", help="a graph of a million jobs too")
    parser.add_argument("--readers", type=int, default=2_000)
    parser.add_argument("--column-edges", type=int, default=200_000)
    parser.add_argument("--jobs", type=int, default=6_000)
    parser.add_argument("--runs", type=int, default=40_000)
    parser.add_argument("--against", type=Path, help="the `src` of an older version, asked in turn")
    parser.add_argument("--json", type=Path, default=HOME / "graph.json", help="where the figures are written too")
    args = parser.parse_args()
    cases = {
        "tables": lambda: tables([*args.sizes, *([1_000_000] if args.full else [])], args.against),
        "hub": lambda: hubs(args.readers, args.against),
        "columns": lambda: columns(args.column_edges, args.against),
        "page": lambda: page(args.jobs, args.runs, args.against),
    }
    said([row for name in args.only or ONLY for row in cases[name]()], args.json)


if __name__ == "__main__":
    main()
