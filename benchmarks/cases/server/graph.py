"""Questions to graphs: how long an answer of a known size takes, over HTTP, as the graph around it grows.

    python benchmarks/cases/server/graph.py [--only tables|hub|columns|page] [--sizes 1000 10000 100000] [--full]

Times are of one connection, from the request's first byte to the answer's last; the physical limit is getting the same number of bytes
from a process that has them ready. Each graph has a server of its own, filled through the batch endpoint, then vacuumed and analyzed.
`--full` adds a million jobs.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path

import msgspec
from catalogue import Catalogue, Event, encoded
from fresh import Server, fresh
from load import drive, get, transfer
from shapes import Pipeline, columned, dataset_id, field_id, hub, pipelines, plain
from table import HOME, Row, said

ONLY = ("tables", "hub", "columns", "page")
# Seconds for one answer, and for all of a question's.
_PATIENCE = 30.0
V2, V1 = "/api/v2/lineage", "/api/v1/lineage"


def fill(server: Server, events: Iterable[Event]) -> float:
    """Load the events, a slice at a time; the seconds it took."""
    began, waiting = time.perf_counter(), iter(events)
    while part := list(islice(waiting, 20_000)):
        server.batches(encoded(part))
    server.settle()
    return time.perf_counter() - began


def size_of(body: bytes) -> tuple[int, int]:
    """Nodes and edges (column edges where there are any) of an answer of either API; of a page, its rows and 0."""
    told = msgspec.json.decode(body)
    if "graph" in told:
        return len(told["graph"]), sum(len(node["inEdges"]) for node in told["graph"])
    if "nodes" in told:
        return len(told["nodes"]), len(told["column_edges"] or told["edges"])
    return len(told["jobs"]), 0


def asked(
    server: Server, name: str, paths: Sequence[str], repeats: int, target: float, share: float = 0.99, wanted: int = 0
) -> list[Row]:
    """Ask each path in turn; a row for the median and one for the percentile that the target is of.

    `wanted` nodes are expected in an answer at least: a fast answer that lacks half of it is no answer.
    """
    first = drive(server.port, [get(paths[0])], seconds=_PATIENCE)
    if first.cut or first.failed:
        note = f"none in {_PATIENCE:.0f} s" if first.cut else f"HTTP {next(iter(first.statuses))}"
        print(f"{name}: {note}", file=sys.stderr, flush=True)
        return [Row(name, None, "ms", target=target, note=note)]
    nodes, edges = size_of(first.last)
    warm = [get(path) for path in islice(cycle(paths), min(repeats, 5))]
    drive(server.port, warm if first.seconds < 1 else [], seconds=_PATIENCE)
    outcome = drive(server.port, [get(path) for path in islice(cycle(paths), repeats)], seconds=_PATIENCE)
    if outcome.failed:
        sys.exit(f"{name}: {outcome.statuses}")
    if not outcome.milliseconds:
        outcome = first
    print(f"{name}: {outcome.at(0.5):.1f} ms", file=sys.stderr, flush=True)
    answered = len(outcome.milliseconds)
    bytes_each = outcome.received // answered
    limit = transfer({"": bytes_each})[""]
    note = f"{nodes:,} nodes, {edges:,} edges, {bytes_each / 1024:,.0f} KiB; {answered} requests"
    if nodes < wanted:
        note += f"; **incomplete: {wanted:,} nodes expected**"
    return [
        Row(f"{name}: median", outcome.at(0.5), "ms", limit, note=note),
        Row(f"{name}: p{100 * share:.0f}", outcome.at(share), "ms", limit, target),
    ]


def v2(name: str, depth: int = 20, **more: str) -> str:
    rest = "".join(f"&{key}={value}" for key, value in more.items())
    return f"{V2}?node={dataset_id(name)}&depth={depth}&max_nodes=100000{rest}"


def v1(name: str, depth: int = 20) -> str:
    return f"{V1}?nodeId={dataset_id(name)}&depth={depth}"


def tables(sizes: Sequence[int]) -> list[Row]:
    rows = []
    for size in sizes:
        graph = pipelines(size)
        kinds = {
            "100 nodes": ([one for one in graph if one.jobs == 49], 200, 10.0),
            "1,000 nodes": ([one for one in graph if one.jobs == 499], 60, 50.0),
            "40,000 edges": ([one for one in graph if one.jobs == 13_334], 8, 1000.0),
        }
        with fresh() as server:
            seconds = fill(server, (event for pipeline in graph for event in plain(pipeline)))
            rows.append(Row(f"graph of {size:,} jobs: filled", size / seconds, "events/s", better="more"))
            for kind, (chosen, repeats, target) in kinds.items():
                if not chosen:
                    continue
                some = chosen[:: max(1, len(chosen) // 50)]
                for api, path in (("v2", v2), ("v1", v1)):
                    name = f"graph of {size:,} jobs, {kind}, /api/{api}"
                    rows += asked(
                        server, name, [path(one.end) for one in some], repeats, target, wanted=chosen[0].nodes
                    )
    return rows


def hubs(readers: int) -> list[Row]:
    with fresh() as server:
        fill(server, hub(readers))
        name = f"one table read by {readers:,} jobs, depth 4"
        return [
            *asked(server, f"{name}, /api/v2", [v2("hub/dimension", 4)], 30, 100.0, wanted=2 * readers + 1),
            *asked(server, f"{name}, /api/v1", [v1("hub/dimension", 4)], 30, 100.0, wanted=2 * readers + 1),
            *asked(
                server,
                f"{name}, from one of its readers, /api/v1",
                [v1("hub/fact_0007", 4)],
                30,
                100.0,
                wanted=2 * readers + 1,
            ),
        ]


def columns(edges: int) -> list[Row]:
    jobs = 400
    graph = [Pipeline(f"columned_{number}", jobs) for number in range(max(1, edges // (20 * jobs)))]
    # From the middle, both ways have something to find.
    middles = [one.table(4, 3) for one in graph]
    with fresh() as server:
        fill(server, (event for pipeline in graph for event in columned(pipeline)))
        fields = [
            f"/api/v1/column-lineage?nodeId={field_id(name, 'column_3')}&depth=20&withDownstream=true"
            for name in middles
        ]
        whole = [f"/api/v1/column-lineage?nodeId={dataset_id(name)}&depth=20&withDownstream=true" for name in middles]
        of = f"{edges:,} column edges, both ways, depth 20"
        return [
            *asked(
                server,
                f"{of}, one column, /api/v2",
                [v2(name, columns="true", field="column_3") for name in middles],
                60,
                100.0,
            ),
            *asked(server, f"{of}, one column, /api/v1", fields, 60, 100.0),
            *asked(server, f"{of}, a table's ten columns, /api/v1", whole, 30, 100.0),
        ]


def page(jobs: int, runs: int) -> list[Row]:
    with fresh() as server:
        fill(server, Catalogue(jobs).events(2 * runs))
        of = f"first 100 of {jobs:,} jobs with {runs:,} runs"
        rows = []
        for api, path in (("v2", "/api/v2/jobs?limit=100"), ("v1", "/api/v1/jobs?limit=100")):
            rows += asked(server, f"{of}, /api/{api}", [path], 60, 30.0, wanted=100)
        return rows


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
    parser.add_argument("--json", type=Path, default=HOME / "graph.json", help="where the figures are written too")
    args = parser.parse_args()
    cases = {
        "tables": lambda: tables([*args.sizes, *([1_000_000] if args.full else [])]),
        "hub": lambda: hubs(args.readers),
        "columns": lambda: columns(args.column_edges),
        "page": lambda: page(args.jobs, args.runs),
    }
    said([row for name in args.only or ONLY for row in cases[name]()], args.json)


if __name__ == "__main__":
    main()
