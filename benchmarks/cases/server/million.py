"""Answers over many datasets beside the same answers over ten thousand: two servers, asked in turn, so that a ratio holds at any load.

    python benchmarks/cases/server/million.py [--datasets 1000000] [--beside 10000] [--repeats 40]

Most datasets come in events with fifty outputs of eight columns, as a crawler of a warehouse reports them; the lineage that is asked for is the
same in both. An answer may take 1.5 times as long over the larger graph. The rate of the last tenth of the events is set beside that of the first.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
from catalogue import COLUMNS, STORE, Event, encoded, schema
from fresh import Server, fresh
from load import Outcome, drive, get
from shapes import Pipeline, completed, dataset_id, plain
from table import HOME, Row, said

WIDE = 50
MIB = 1024 * 1024
_BYTES = "select sum(pg_total_relation_size(oid))::int8 from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'm')"


def crawled(datasets: int) -> Iterator[Event]:
    """Return events that report so many datasets."""
    fields = schema(COLUMNS[:8])
    for number in range(datasets // WIDE):
        tables = [f"crawled/area_{number % 97}/table_{number}_{place}" for place in range(WIDE)]
        outputs = [{"namespace": STORE, "name": name, "facets": {"schema": fields}} for name in tables]
        yield completed(f"crawl.{number}", [], outputs, number)


def filled(server: Server, datasets: int) -> tuple[float, float]:
    """Fill the server; datasets a second of the first tenth and of the last."""
    server.batches(encoded(list(plain(Pipeline("asked", 49)))))
    bodies = encoded(list(crawled(datasets)))
    tenth = max(1, len(bodies) // 10)
    rates = []
    for part in (bodies[:tenth], bodies[tenth:-tenth], bodies[-tenth:]):
        if part:
            rates.append(WIDE * len(part) / server.batches(part, 20).seconds)
    server.settle()
    return rates[0], rates[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=int, default=1_000_000)
    parser.add_argument("--beside", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", type=Path, default=HOME / "million.json", help="where the figures are written too")
    given = parser.parse_args()
    node = dataset_id(Pipeline("asked", 49).end)
    questions = {
        "lineage of 100 nodes, /api/v2": f"/api/v2/lineage?node={node}&depth=20&max_nodes=1000",
        "lineage of 100 nodes, /api/v1": f"/api/v1/lineage?nodeId={node}&depth=20",
        "search for a whole name": "/api/v2/search?q=table_7_3",
        "search for a word that all names have": "/api/v2/search?q=crawled",
        "a page of 100 datasets": "/api/v2/datasets?limit=100",
        "a page of 100 jobs": "/api/v2/jobs?limit=100",
        "one dataset": f"/api/v2/datasets/{quote(STORE, safe='')}/{quote('crawled/area_3/table_3_3', safe='')}",
    }
    with fresh() as small, fresh() as large:
        filled(small, given.beside)
        began = time.perf_counter()
        first, last = filled(large, given.datasets)
        seconds = time.perf_counter() - began
        of = f"{given.datasets:,} datasets"
        with psycopg.connect(large.database_url) as connection:
            size = connection.execute(_BYTES).fetchone()[0]  # type: ignore[index]
        rows = [
            Row(
                f"{of}: datasets/s of the last tenth",
                last,
                "datasets/s",
                first,
                0.8 * first,
                "more",
                f"beside: the first tenth; all in {seconds:.0f} s",
            ),
            Row(f"{of}: bytes each, log and indexes included", size / given.datasets, "bytes"),
        ]
        for name, path in questions.items():
            mine, theirs = Outcome(), Outcome()
            for turn in range(given.repeats + 3):
                for server, outcome in ((large, mine), (small, theirs)):
                    one = drive(server.port, [get(path)], seconds=60.0)
                    if one.failed or one.cut:
                        raise SystemExit(f"{name}: {one.statuses} {one.last!r:.300}")
                    if turn >= 3:
                        outcome.milliseconds += one.milliseconds
            note = f"p99 {mine.at(0.99):.1f} ms, over {given.beside:,} datasets {theirs.at(0.99):.1f}"
            rows.append(
                Row(f"{of}, {name}: median", mine.at(0.5), "ms", theirs.at(0.5), 1.5 * theirs.at(0.5), note=note)
            )
        rows.append(Row(f"{of}: the server's memory", large.memory() / MIB, "MiB", small.memory() / MIB))
    said(rows, given.json)


if __name__ == "__main__":
    main()
