"""The cost of capture for the largest queries, and once for a program.

    python benchmarks/micro/capture_bounds.py [--cases nodes columns both files merge saves program]

Each case is a program of its own. For a query: milliseconds of the thread that runs it, with capture less without (processor time, the least of three
each); seconds from the query's end until its last event is emitted; processor seconds of capture's thread for three queries; what the Python process
and the JVM's heap grew by meanwhile (sampled, after a collection before the query). `saves`: the time that
capture adds to the program's thread when an RDD or a model is saved. `program`: a short program with and without capture in turn, wall and
processor time of its process and its JVM, from its start to its end. `merge` needs the environment of `scripts/lake`.
"""

import argparse
import contextlib
import ctypes
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CASES = ("nodes", "columns", "both", "files", "merge")


class Kept:
    """An emitter that keeps the last event and when it came."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {}
        self.at = 0.0

    def emit(self, event: dict[str, Any]) -> None:
        self.last, self.at = event, time.perf_counter()

    def flush(self, timeout: float) -> bool:
        return True


class Growth:
    """The most that the Python process and the heap of the JVM hold while it is entered, in bytes, less what they held before."""

    def __init__(self, spark: Any) -> None:
        self._runtime = spark._jvm.java.lang.Runtime.getRuntime()
        self._over = threading.Event()
        self.python = self.jvm = 0

    def __enter__(self) -> "Growth":
        self._runtime.gc()
        self._heap, self._most = self._used(), 0
        self._python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def _used(self) -> int:
        return int(self._runtime.totalMemory()) - int(self._runtime.freeMemory())

    def _sample(self) -> None:
        while not self._over.wait(0.02):
            self._most = max(self._most, self._used())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.python = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._python) * 1024
        self.jvm = max(0, self._most - self._heap)


def session(home: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("bounds").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g").config("spark.sql.warehouse.dir", f"{home}/warehouse")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.files.openCostInBytes", "0")
    builder = builder.config("spark.sql.extensions", os.environ.get("BOUNDS_EXTENSIONS", ""))
    if "BOUNDS_EXTENSIONS" in os.environ:
        builder = builder.config("spark.jars", os.environ["BOUNDS_JARS"])
        builder = builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        builder = builder.config("spark.sql.catalog.lake.type", "hadoop").config(
            "spark.sql.catalog.lake.warehouse", f"{home}/lake"
        )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def wide(spark: Any, home: str, columns: int) -> None:
    spark.range(10).selectExpr(*(f"id + {i} as c{i}" for i in range(columns))).write.parquet(f"{home}/wide")
    spark.read.parquet(f"{home}/wide").createOrReplaceTempView("wide")


def nodes(spark: Any, home: str) -> Callable[[], None]:
    """Return a write of a union whose plan has some 5,000 nodes."""
    wide(spark, home, 4)
    frame = united([spark.table("wide").where(f"c0 > {i}").select("c0", "c1") for i in range(1000)]).where("1 = 0")
    return lambda: frame.write.mode("overwrite").parquet(f"{home}/out")


def united(frames: list[Any]) -> Any:
    """Return the union of frames, as a tree that is not deep: Spark's own walks are recursive."""
    while len(frames) > 1:
        frames = [left.union(right) for left, right in zip(frames[::2], frames[1::2], strict=False)] + (
            frames[-1:] if len(frames) % 2 else []
        )
    return frames[0]


def columns(spark: Any, home: str) -> Callable[[], None]:
    """Return a write of 2,000 columns, which 40 projections pass on or change."""
    wide(spark, home, 2000)
    frame = spark.table("wide")
    for i in range(40):
        frame = frame.withColumn(f"c{i}", frame[f"c{i}"] * 2)
    return lambda: frame.write.mode("overwrite").parquet(f"{home}/out")


def both(spark: Any, home: str) -> Callable[[], None]:
    """Return a write of 2,000 columns whose plan has some 5,000 nodes, which is more than capture reads."""
    wide(spark, home, 2000)
    frame = united([spark.table("wide").where(f"c0 > {i}").select("*") for i in range(1000)]).where("1 = 0")
    return lambda: frame.write.mode("overwrite").parquet(f"{home}/out")


def files(spark: Any, home: str) -> Callable[[], None]:
    """Return a write of one row out of a table of 100,000 files."""
    spark.range(1).selectExpr("id", "id % 7 as kind").coalesce(1).write.parquet(f"{home}/one")
    (one,) = Path(home, "one").glob("*.parquet")
    folder = Path(home, "many")
    folder.mkdir()
    content = one.read_bytes()
    for i in range(100_000):
        (folder / f"part-{i:06}.parquet").write_bytes(content)
    frame = spark.read.schema("id long, kind long").parquet(str(folder)).limit(1)
    return lambda: frame.write.mode("overwrite").parquet(f"{home}/out")


def merge(spark: Any, home: str) -> Callable[[], None]:
    """Return a MERGE of five tables, joined and united, into an Iceberg table."""
    for i in range(6):
        spark.range(1000).selectExpr("id", *(f"id * {n} as v{n}" for n in range(20))).write.format(
            "iceberg"
        ).saveAsTable(f"lake.db.t{i}")
    values = ", ".join(f"b.v{n} + c.v{n} as v{n}" for n in range(20))
    source = (
        f"SELECT a.id, {values} FROM lake.db.t1 a JOIN lake.db.t2 b ON a.id = b.id JOIN lake.db.t3 c ON a.id = c.id"
    )
    source += " UNION ALL SELECT d.* FROM lake.db.t4 d LEFT ANTI JOIN lake.db.t5 e ON d.id = e.id"
    changes = ", ".join(f"t.v{n} = s.v{n}" for n in range(20))
    text = f"MERGE INTO lake.db.t0 t USING ({source}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {changes} WHEN NOT MATCHED THEN INSERT *"
    return lambda: spark.sql(text)


def measure(case: str, home: str) -> None:
    from headwater.capture.spark import attach
    from headwater.capture.spark.attachment import Attachment

    spark = session(home)
    work = globals()[case](spark, home)
    work()  # classes, and code that the JVM compiles
    off = min(thread_seconds(work) for _ in range(3))
    emitter, spent, spent_by = Kept(), [], threading.Event()
    listen = Attachment._listen

    def timed(attachment: Attachment, collector: Any) -> None:
        began = time.thread_time()
        listen(attachment, collector)
        spent.append(time.thread_time() - began)
        spent_by.set()

    Attachment._listen = timed  # type: ignore[assignment, method-assign]
    attachment = attach(spark, emitter=emitter)
    on = min(thread_seconds(work) for _ in range(2))
    attachment.flush(60)
    with Growth(spark) as growth:
        on = min(on, thread_seconds(work))
        ended = time.perf_counter()
        attachment.flush(60)
    attachment.detach()
    spent_by.wait(10)
    facets = emitter.last["run"]["facets"]
    print(
        json.dumps(
            {
                "case": case,
                "query's thread, ms": round((on - off) * 1000, 2),
                "until its last event, s": round(max(0.0, emitter.at - ended), 2),
                "processor time of three, s": round(spent[0], 2),
                "Python grew by, MB": round(growth.python / 1e6, 1),
                "the JVM's heap, with the query, grew by, MB": round(growth.jvm / 1e6, 1),
                "columns": len(emitter.last["outputs"][0]["facets"].get("columnLineage", {}).get("fields", {})),
                "warnings": facets.get("headwater_warnings", {}).get("warnings", []),
                "inputs": len(emitter.last["inputs"]),
            }
        ),
        flush=True,
    )
    spark.stop()


def saves(home: str) -> None:
    """Print what capture adds to the thread that saves an RDD, or a model: the time around PySpark's own method."""
    from pyspark.ml import util
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression
    from pyspark.rdd import RDD

    from headwater.capture.spark import attach

    spark = session(home)
    inner: list[float] = []

    def timed(original: Callable[..., Any]) -> Callable[..., Any]:
        def save(*given: Any) -> Any:
            began = time.perf_counter()
            try:
                return original(*given)
            finally:
                inner.append(time.perf_counter() - began)

        return save

    RDD.saveAsTextFile = timed(RDD.saveAsTextFile)  # type: ignore[method-assign]
    util.JavaMLWriter.save = timed(util.JavaMLWriter.save)  # type: ignore[method-assign]
    attachment = attach(spark, emitter=Kept())
    frame = spark.range(100).selectExpr("id * 2.0 as x", "id as label")
    frame.write.parquet(f"{home}/in")
    vectors = VectorAssembler(inputCols=["x"], outputCol="features").transform(spark.read.parquet(f"{home}/in"))
    model = LinearRegression(maxIter=1).fit(vectors)
    lines = spark.read.parquet(f"{home}/in").rdd.map(str)
    for what, saver in (("an RDD", lambda: lines.saveAsTextFile), ("a model", lambda: model.write().save)):
        added = []
        for turn in range(10):
            save = saver()
            began = time.perf_counter()
            save(f"{home}/{what}-{turn}")
            added.append((time.perf_counter() - began - inner[-1]) * 1000)
            attachment.flush(60)
        print(
            f"saves, {what}: {statistics.median(added):.2f} ms, at most {max(added):.2f} ms; load {os.getloadavg()[0]:.1f}"
        )
    spark.stop()


def thread_seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


_PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.range(1000).selectExpr("id", "id % 7 as kind").groupBy("kind").count()
frame.write.mode("overwrite").parquet(HOME)
"""


def program(home: str, pairs: int) -> None:
    """Print the cost of capture to a program of one query, from its start to its end."""
    figures: dict[str, dict[bool, list[float]]] = {"wall": {True: [], False: []}, "processor": {True: [], False: []}}
    for turn in range(pairs * 2):
        on = turn % 4 in {1, 2}
        variables = {
            key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_"))
        }
        if on:
            variables |= {
                "HEADWATER_CAPTURE": "spark",
                "HEADWATER_TRANSPORT": "file",
                "HEADWATER_EVENTS_FILE": f"{home}/events.ndjson",
            }
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        text = _PROGRAM.replace("HOME", repr(f"{home}/out"))
        subprocess.run([sys.executable, "-c", text], check=True, env=variables, capture_output=True)
        figures["wall"][on].append(time.perf_counter() - began)
        wait_for_orphans()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures["processor"][on].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for what, seconds in figures.items():
        pairs_of = list(zip(seconds[False], seconds[True], strict=True))
        drawn = random.Random(1)
        means = sorted(
            statistics.mean(b - a for a, b in drawn.choices(pairs_of, k=len(pairs_of))) for _ in range(10_000)
        )
        with_it, without = statistics.mean(seconds[True]), statistics.mean(seconds[False])
        least = min(seconds[True]) - min(seconds[False])
        print(
            f"program, {what}: without {without:.2f} s, with {with_it:.2f} s: {with_it - without:+.3f} s "
            f"({means[250]:+.3f} to {means[9749]:+.3f}); least of each: {least:+.3f} s; {len(pairs_of)} pairs; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def adopt_orphans() -> None:
    """Become the parent of processes whose parent ended: the JVM outlives its program, and its processor time counts."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def wait_for_orphans() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def lake() -> dict[str, str]:
    """Return the variables of a program with Iceberg: the PySpark that there is an Iceberg for, before that of the environment."""
    words = subprocess.run([str(ROOT / "scripts/lake")], check=True, capture_output=True, text=True).stdout.split()
    (packages,) = (ROOT / ".tools/lake/lib").glob("python3*/site-packages")
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    path = f"{packages}:{ROOT / 'src'}"
    return {
        "BOUNDS_EXTENSIONS": extensions,
        "BOUNDS_JARS": words[-1],
        "PYTHONPATH": path,
        "SPARK_HOME": f"{packages}/pyspark",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--cases", nargs="*", default=[*CASES, "saves", "program"], choices=[*CASES, "saves", "program"]
    )
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--single", choices=[*CASES, "saves"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    home = tempfile.mkdtemp(prefix="headwater-bounds-")
    try:
        if arguments.single == "saves":
            saves(home)
            return
        if arguments.single:
            measure(arguments.single, home)
            return
        for case in arguments.cases:
            if case == "program":
                adopt_orphans()
                program(home, arguments.pairs)
                continue
            more = lake() if case == "merge" else {}
            subprocess.run([sys.executable, __file__, "--single", case], check=True, env=os.environ | more)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
