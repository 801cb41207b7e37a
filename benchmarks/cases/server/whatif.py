"""The effects of a change before it is made, in a graph of 100,000 tables with a million column edges.

    python benchmarks/cases/server/whatif.py [--tables 100000] [--columns 5] [--against SRC]

`POST /api/v2/whatif` drops a column of tables of many pipelines: one that feeds much of the pipeline, and one in its middle. Every job has its SQL,
which is read twice for each question. Beside them, in turn, a page of 100 jobs: the floor of an answer of this server. With `--against` an older
version is asked in turn too.
"""

import argparse
import json
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from graph import Servers, fill, started
from shapes import Event, Pipeline, columned
from table import HOME, Row, said
from taint import ask

JOBS, QUESTIONS, ROUNDS = 400, 20, 3


def events(graph: list[Pipeline], columns: int) -> Iterator[Event]:
    """The runs of `columned`, each with its job's SQL."""
    for pipeline in graph:
        for event in columned(pipeline, columns):
            output, inputs = event["outputs"][0]["name"], [one["name"] for one in event["inputs"]]
            tables = " join ".join(f'"{name}" t{n}' for n, name in enumerate(inputs))
            picked = ", ".join(
                " + ".join(f"t{n}.column_{column}" for n in range(len(inputs))) + f" as column_{column}"
                for column in range(columns)
            )
            where = "" if len(inputs) == 1 else " on t0.column_0 = t1.column_0"
            text = f'insert into "{output}" select {picked} from {tables}{where}'
            event["job"]["facets"] = {"sql": {"query": text, "dialect": "postgres"}}
            yield event


def filled(servers: Servers, tables: int, columns: int) -> list[Row]:
    graph = [Pipeline(f"whatif_{number}", JOBS) for number in range(max(1, tables // JOBS))]
    fill(servers, events(graph, columns))
    return measured(servers, graph, columns)


def measured(servers: Servers, graph: list[Pipeline], columns: int) -> list[Row]:
    port = servers.now.port
    found: dict[str, list[float]] = {"first": [], "middle": [], "page": [], "former first": [], "former middle": []}
    sizes: dict[str, list[int]] = {"first": [], "middle": []}
    for _ in range(ROUNDS):
        for pipeline in islice(graph, QUESTIONS):
            outputs = [output for output, _ in pipeline.links()]
            for name, table in (("first", outputs[-1]), ("middle", pipeline.table(4, 3))):
                began = time.perf_counter()
                _, body = ask(port, "POST", "/api/v2/whatif", {"drop": f"{table}.column_3"})
                found[name].append(time.perf_counter() - began)
                told = json.loads(body)
                assert told["severity"] == "breaks", told
                sizes[name].append(len(told["columns"]))
                if servers.former:
                    seconds, _ = ask(servers.former.port, "POST", "/api/v2/whatif", {"drop": f"{table}.column_3"})
                    found[f"former {name}"].append(seconds)
            found["page"].append(ask(port, "GET", "/api/v2/jobs?limit=100")[0])

    def at(name: str, share: float) -> float:
        ordered = sorted(found[name])
        return 1_000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    of = f"{len(graph) * JOBS:,} tables, {2 * columns * len(graph) * JOBS:,} column edges"
    words = {"first": "a pipeline's first table", "middle": "a table in the middle"}
    rows = []
    for name, place in words.items():
        note = f"{sorted(sizes[name])[len(sizes[name]) // 2]:,} columns reached; {len(found[name])} questions"
        rows += [
            Row(f"whatif --drop, {of}, {place}: median", at(name, 0.5), "ms", at("page", 0.5), 500.0, note=note),
            Row(f"whatif --drop, {of}, {place}: p95", at(name, 0.95), "ms", at("page", 0.95), 500.0),
        ]
        if servers.former:
            former = f"former {name}"
            rows.append(
                Row(f"the same by the older version: median; p95 {at(former, 0.95):,.0f}", at(former, 0.5), "ms")
            )
    return [*rows, Row("a page of 100 jobs, in turn: median", at("page", 0.5), "ms")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=5)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    with started(given.against) as servers:
        said(filled(servers, given.tables, given.columns), HOME / "whatif.json")


if __name__ == "__main__":
    main()
