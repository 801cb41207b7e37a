"""Statistics of made-up graphs: seconds, and the most memory that the driver, its JVM and the workers had together.

    python benchmarks/cases/graph_stats/stats.py --sizes 10000 100000 1000000 --cores 2 [--json FILE]

A graph has ten times as many edges as datasets, in about thirty layers, as a warehouse has: most read from the layer before, some from further up; a
few datasets are read by very many; one in ten thousand edges goes back and may close a loop; a hundredth of the datasets are apart.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.graph_stats.work import graph_stats
from headwater.pipeline.session import session

LAYERS = 30
DEGREE = 10


def edges(spark: SparkSession, datasets: int, parts: int) -> DataFrame:
    """`datasets` × DEGREE edges, the same ones each time; a few fewer are distinct."""
    layer = max(1, datasets // LAYERS)

    def chance(seed: int) -> F.Column:
        return F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(1_000_003)) / 1_000_003

    far, hub, back, small = chance(1), chance(2), chance(3), chance(4)
    target = F.floor(F.col("id") / DEGREE)
    up = layer * F.floor(1 + far * far * far * 5)
    # It reads a near place of that layer, or one of its few hubs.
    near = F.floor(target - up + (hub - 0.5) * layer / 4)
    source = F.when(hub < 0.05, F.floor(near / layer) * layer + F.floor(hub * 1000)).otherwise(near)
    source = F.when(back < 0.0001, target + 5 * layer).otherwise(source)
    source = F.when(F.pmod(target, F.lit(100)) == 0, target + F.floor(small * 5)).otherwise(source)
    made = spark.range(0, datasets * DEGREE, 1, parts).select(target.alias("target"), source.alias("source"))
    made = made.where((F.col("source") >= 0) & (F.col("source") < datasets))
    space = F.lit("warehouse://made-up")
    return made.select(
        space.alias("from_namespace"),
        F.concat(F.lit("schema.table_"), F.col("source")).alias("from_name"),
        space.alias("to_namespace"),
        F.concat(F.lit("schema.table_"), F.col("target")).alias("to_name"),
    )


class Memory(threading.Thread):
    """The most memory of all processes below this one, pages they share counted once, looked at twice a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.worker, self._over = 0, 0, threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.5):
            sizes = _resident()
            self.peak = max(self.peak, sum(sizes.values()))
            self.worker = max([self.worker, *(size for name, size in sizes.items() if name[1] == "python")])

    def stop(self) -> None:
        self._over.set()
        self.join()


def _resident() -> dict[tuple[int, str], int]:
    """Bytes of each process below this one, by its number and whether it is Python."""
    parents, sizes = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")
                lines = (entry / "smaps_rollup").read_text().splitlines()
                share = sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[2].split()[1])
            sizes[int(entry.name)] = (share, "python" if "python" in stat[0] else "java")
    mine, found = os.getpid(), {}
    for pid, (size, kind) in sizes.items():
        above = pid
        while above in parents and above != mine:
            above = parents[above]
        if above == mine and pid != mine:
            found[pid, kind] = size
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="4g", help="of the JVM")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    settings = {"spark.sql.shuffle.partitions": str(4 * asked.cores), "spark.driver.memory": asked.memory}
    spark = session(f"local[{asked.cores}]", name="graph statistics", settings=settings)
    spark.sparkContext.setLogLevel("ERROR")
    found = []
    for size in asked.sizes:
        with tempfile.TemporaryDirectory() as folder:
            edges(spark, size, 2 * asked.cores).write.parquet(f"{folder}/edges")
            memory = Memory()
            memory.start()
            began = time.monotonic()
            told = graph_stats(spark, f"{folder}/store", [f"{folder}/edges"])
            seconds = time.monotonic() - began
            memory.stop()
            began = time.monotonic()
            assert not graph_stats(spark, f"{folder}/store", [f"{folder}/edges"]).computed
            again = time.monotonic() - began
        found.append(
            {
                "datasets": told.datasets,
                "edges": told.edges,
                "loops": told.loops,
                "longest": told.longest,
                "exact": told.estimated == 0,
                "rounds": told.rounds,
                "seconds": round(seconds, 1),
                "unchanged": round(again, 1),
                "peak MB": memory.peak >> 20,
                "worker MB": memory.worker >> 20,
            }
        )
        print(" | ".join(f"{name} {value:,}" for name, value in found[-1].items()), flush=True)
    heads = list(found[0])
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for row in found:
        print("| " + " | ".join(f"{row[name]:,}" for name in heads) + " |")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))
    spark.stop()


if __name__ == "__main__":
    main()
