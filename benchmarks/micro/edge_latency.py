"""From the end of a Spark write to the edge being answered by the API.

    python benchmarks/micro/edge_latency.py [--writes 20]

Starts a server in a folder of its own and a Spark session with capture attached, as a program has it. After each write returns, the API is asked
every 5 ms for the lineage of what was written, until the run that wrote it is COMPLETED.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("headwater"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writes", type=int, default=20)
    writes = parser.parse_args().writes
    with tempfile.TemporaryDirectory(prefix="headwater-latency-") as home:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        url = f"http://127.0.0.1:{port}"
        os.environ |= {"HEADWATER_HOME": f"{home}/headwater", "HEADWATER_SPOOL": f"{home}/spool", "HEADWATER_URL": url}
        subprocess.run([PROGRAM, "up", "--port", port], check=True)
        try:
            measure(url, home, writes)
        finally:
            subprocess.run([PROGRAM, "down"], check=True)


def measure(url: str, home: str, writes: int) -> None:
    from pyspark.sql import SparkSession

    from headwater.capture.spark import attach
    from headwater.client.ask import ask
    from headwater.errors import NotFound

    builder = SparkSession.builder.master("local[2]").appName("latency").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.range(1000).selectExpr("id", "id % 7 as kind").write.parquet(f"{home}/source")
    attach(spark)
    figures = []
    for number in range(writes + 2):
        spark.read.parquet(f"{home}/source").groupBy("kind").count().write.parquet(f"{home}/out-{number}")
        ended = time.perf_counter()
        question = {"node": f"dataset:file:{home}/out-{number}", "columns": True}
        while True:
            try:
                answer = json.loads(ask(url, "/api/v2/lineage", question))
                if (
                    any((node.get("last_run") or {}).get("state") == "COMPLETED" for node in answer["nodes"])
                    and answer["column_edges"]
                ):
                    break
            except NotFound:
                pass
            time.sleep(0.005)
        if number > 1:
            figures.append((time.perf_counter() - ended) * 1000)
    spark.stop()
    print(
        f"end of a write to its edge, columns and COMPLETED run in the API: median {statistics.median(figures):.0f} ms, "
        f"max {max(figures):.0f} ms, of {len(figures)} writes"
    )


if __name__ == "__main__":
    main()
