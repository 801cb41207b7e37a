"""A BigQuery export of made-up jobs, from files to what a server answers: rows a second, stages, processor time, peak memory, first graph.

    python benchmarks/cases/query_log/pipeline.py --rows 1000000 --shapes 20000 --cores 2 [--times 2] [--json FILE]

Runs `headwater sync query-log` in a process of its own, against a server (and its PostgreSQL) on the same machine. `first graph` is the
time from the command to the first answer of /api/v2/lineage that has an edge. `--times N` takes in N exports of `--rows` each, one after another.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from generate import DAYS, rows
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.session import session

PORT = 5791
PRICES = "currency: USD\ncompute:\n  - source: bigquery\n    per_tib_billed: 6.25\n"


def export(rows_: int, shapes: int, skew: float, to: Path, number: int) -> None:
    """Parquet of INFORMATION_SCHEMA.JOBS, a file for each day or half a million rows; each export's jobs are other jobs."""
    spark = session("local[*]", name="query log, made up")
    made = rows(spark, rows_, shapes, skew, "bigquery", max(DAYS, rows_ // 500_000))
    jobs = made.select(
        F.concat("query_id", F.lit(f"-{number}")).alias("job_id"),
        F.lit("dwh").alias("project_id"),
        F.col("started_at").alias("creation_time"),
        F.col("started_at").alias("start_time"),
        F.timestamp_millis(F.unix_millis("started_at") + F.col("duration_ms").cast("long")).alias("end_time"),
        F.col("user").alias("user_email"),
        F.col("statement").alias("query"),
        F.lit("DONE").alias("state"),
        F.lit("QUERY").alias("job_type"),
        F.col("bytes_billed").cast("long").alias("total_bytes_billed"),
        F.col("slot_ms").cast("long").alias("total_slot_ms"),
        F.lit(False).alias("cache_hit"),
    )
    jobs.write.mode("overwrite").parquet(str(to))
    spark.stop()


def tree(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def memory(pid: int) -> int:
    """MB of the process and all below it, what they share counted once."""
    total = 0
    for one in tree(pid):
        try:
            told = Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in told.splitlines() if line.startswith("Pss:")), 0)
    return total // 1024


def processor(pid: int) -> float:
    """Seconds of processor that the process and all below it have taken, with children that ended."""
    ticks = 0
    for one in tree(pid):
        try:
            ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


class Watched:
    """A command, its peak memory and processor time (to the half second before its end), and when the graph was there."""

    def __init__(self, command: list[str], env: dict[str, str], url: str) -> None:
        self.began = time.monotonic()
        self.peak = 0
        self.processor = 0.0
        self.first_graph: float | None = None
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        thread = threading.Thread(target=self._watch, args=(process, url), daemon=True)
        thread.start()
        self.told = process.communicate()[0]
        self.seconds = time.monotonic() - self.began
        thread.join()
        assert process.returncode == 0, self.told

    def _watch(self, process: "subprocess.Popen[str]", url: str) -> None:
        while process.poll() is None:
            self.peak = max(self.peak, memory(process.pid))
            self.processor = max(self.processor, processor(process.pid))
            if self.first_graph is None and edges(url):
                self.first_graph = time.monotonic() - self.began
            time.sleep(0.5)


def edges(url: str) -> int:
    """Edges around a dataset that many shapes of the log read and write."""
    node = urllib.parse.quote("dataset:bigquery:dwh.raw.customers", safe="")
    try:
        with urllib.request.urlopen(f"{url}/api/v2/lineage?node={node}", timeout=10) as reply:
            return len(json.load(reply)["edges"])
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shapes", type=int, default=20_000)
    parser.add_argument("--skew", type=float, default=0.3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = _run(asked, Path(home))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


def _run(asked: argparse.Namespace, home: Path) -> list[dict[str, Any]]:
    url = f"http://127.0.0.1:{PORT}"
    env = os.environ | {"HEADWATER_HOME": str(home / "home"), "HEADWATER_SERVER__PORT": str(PORT), "HEADWATER_URL": url}
    (home / "prices.yaml").write_text(PRICES)
    headwater = [sys.executable, "-m", "headwater"]
    subprocess.run([*headwater, "up"], env=env, check=True, stdout=subprocess.DEVNULL)
    found: list[dict[str, Any]] = []
    try:
        for number in range(asked.times):
            export(asked.rows, asked.shapes, asked.skew, home / f"log{number}", number)
            size = sum(file.stat().st_size for file in (home / f"log{number}").glob("*.parquet"))
            command = [
                *headwater, "sync", "query-log", "--source", "bigquery", "--input", f"{home}/log{number}/*.parquet", "--store",
                f"{home}/store", "--prices", f"{home}/prices.yaml", "--master", f"local[{asked.cores}]", "--json",
            ]  # fmt: skip
            done = Watched(command, env, url)
            told = json.loads(done.told)
            one = {
                "rows": told["rows"],
                "MB in": round(size / 1e6),
                "cores": asked.cores,
                "seconds": round(done.seconds, 1),
                "rows a second": round(told["rows"] / done.seconds),
                "first graph s": done.first_graph and round(done.first_graph, 1),
                "processor s": round(done.processor, 1),
                "peak MB": done.peak,
                "events": told["published"]["events"],
                "refused": told["published"]["refused"],
                "stages": told["stages"],
            }
            found.append(one)
            print(json.dumps(one), flush=True)
    finally:
        subprocess.run([*headwater, "down"], env=env, check=False, stdout=subprocess.DEVNULL)
    return found


if __name__ == "__main__":
    main()
