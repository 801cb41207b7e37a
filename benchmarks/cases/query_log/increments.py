"""One log as one batch, and in many increments in a shuffled order with a quarter of its rows twice: are the tables equal?

    python benchmarks/cases/query_log/increments.py --increments 50 --jobs 400 [--calls 7] [--seed 1]

Every increment is a file and a batch of its own; they are spread over several calls. Exit code 1 when a table differs.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fixtures.pipeline import FAST, content
from tests.fixtures.query_logs import bigquery_jobs, json_lines

from headwater.pipeline.query_log import schema as S  # noqa: N812
from headwater.pipeline.query_log.batch import Asked
from headwater.pipeline.query_log.stages import Settings
from headwater.pipeline.query_log.sync import sync
from headwater.pipeline.session import session
from headwater.pipeline.tables import Store

# Columns that depend on the batch under way: when a row went to quarantine, and which of several files it is from.
PASSING = {S.QUARANTINE.name: ("at", "file", "digest"), S.EXECUTIONS.name: ("file",)}


def tables(spark: Any, store: Path) -> dict[str, list[str]]:
    opened = Store(spark, str(store))
    lasting = [table for table in S.TABLES if table not in {S.LANDED, S.REREAD}]
    return {table.name: content(opened.read(table), *PASSING.get(table.name, ())) for table in lasting}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--increments", type=int, default=50)
    parser.add_argument("--calls", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    rows = bigquery_jobs(asked.jobs, asked.seed)
    spark = session("local[2]", name="query log, increments", settings=FAST)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as home:
        json_lines(Path(home, "one", "all.json"), rows)
        began = time.monotonic()
        sync(spark, f"{home}/plain", Asked("bigquery", (f"{home}/one",)), Settings())
        print(f"one batch of {len(rows):,} rows: {time.monotonic() - began:.1f} s", flush=True)

        shuffled = rows + chance.sample(rows, len(rows) // 4)
        chance.shuffle(shuffled)
        files = [
            json_lines(Path(home, "many", f"{number:04}.json"), shuffled[number :: asked.increments])
            for number in range(asked.increments)
        ]
        chance.shuffle(files)
        began, taken = time.monotonic(), 0
        for number in range(asked.calls):
            # Each call names some files that were taken in before.
            given = files[number :: asked.calls] + chance.sample(files[:: asked.calls], 2)
            told = sync(spark, f"{home}/store", Asked("bigquery", tuple(map(str, given)), batch_files=1), Settings())
            taken += told.batches
        print(f"{taken} batches in {asked.calls} calls, {len(shuffled):,} rows: {time.monotonic() - began:.1f} s")
        plain, many = tables(spark, Path(home, "plain")), tables(spark, Path(home, "store"))
    different = [name for name in plain if plain[name] != many[name]]
    for name, found in plain.items():
        print(f"{name:14} {len(found):>8,} rows  {'DIFFERENT' if name in different else 'equal'}")
    spark.stop()
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
