"""The cost of capture to a program: a loop of small queries with and without it, alternating in one session.

    python benchmarks/micro/capture_overhead.py [--queries 200] [--rounds 20] [--work queries tasks blocks once] [--jar PATH] [--pairs FILE] [--first]

`blocks`, the most exact for small queries: capture stays attached, and its listeners are taken out of Spark's bus and put back. A block is
ten queries; a pair is a block with and one without them, in random order, so the two are a second apart. A block with capture ends when
everything is reported. The median of the pairs' differences counts, with its interval of 95 %, so a block that another program disturbed does not.

`once`: programs in turn with and without capture, each with its own JVM. From a session that has run one query: `attach`, the next query, and the
wait until it is reported. An earlier program left its compiled classes; with `--first` none did. With `--pairs FILE` each pair is added to the file,
and the figures are of all that it has: of several short runs, then.

`queries`: a round is QUERIES queries: four in five read and aggregate to the driver, one in five writes Parquet. Rounds alternate without / with
capture in the same JVM, so that the machine's moods hit both. Neighbours are a pair; the mean of the pairs' differences comes with its interval of
95 % (bootstrap over the pairs), as a share of the mean without capture. `tasks` measures one job of 4,000 empty tasks the same way. `--jar`
measures the OpenLineage jar: it cannot be switched off within a session, so a session with and one without take turns.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Nowhere:
    """An emitter that counts: the cost measured is that of capture, not of delivery."""

    count = 0

    def emit(self, event: dict[str, Any]) -> None:
        self.count += 1

    def flush(self, timeout: float) -> bool:
        return True


def session(jar: str | None, home: str) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("overhead").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.warehouse.dir", f"{home}/warehouse")
    if jar:
        builder = builder.config("spark.jars", jar)
        builder = builder.config("spark.extraListeners", "io.openlineage.spark.agent.OpenLineageSparkListener")
        builder = builder.config("spark.openlineage.transport.type", "file")
        builder = builder.config("spark.openlineage.transport.location", f"{home}/jar-events.ndjson")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def queries(spark: Any, home: str, count: int) -> float:
    began = time.perf_counter()
    for i in range(count):
        frame = spark.read.schema("id long, kind long").parquet(f"{home}/source").where(f"id > {i}")
        frame = frame.groupBy("kind").count()
        if i % 5 == 0:
            frame.write.mode("overwrite").parquet(f"{home}/out")
        else:
            frame.collect()
    return time.perf_counter() - began


def tasks(spark: Any) -> float:
    began = time.perf_counter()
    spark.range(0, 4000, 1, 4000).count()
    return time.perf_counter() - began


def jvm_seconds(spark: Any) -> float:
    """Return the processor seconds of the JVM: other programs on the machine do not disturb them as they do the clock."""
    fields = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interval(differences: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean: bootstrap over the pairs, with a fixed seed."""
    drawn = random.Random(1)
    means = sorted(statistics.mean(drawn.choices(differences, k=len(differences))) for _ in range(10_000))
    return means[250], means[9749]


def middle(shares: list[float]) -> tuple[float, float, float]:
    """Return the median and its interval of 95 %: bootstrap over the pairs, with a fixed seed."""
    drawn = random.Random(1)
    medians = sorted(statistics.median(drawn.choices(shares, k=len(shares))) for _ in range(10_000))
    return statistics.median(shares), medians[250], medians[9749]


_BLOCK = 10


def blocks(arguments: argparse.Namespace, home: str) -> None:
    """Print the cost of capture to blocks of queries that take turns within one session."""
    from headwater.capture.spark import attach

    spark = session(None, home)
    spark.range(1000).selectExpr("id", "id % 7 as kind").write.parquet(f"{home}/source")
    emitter = Nowhere()
    attachment = attach(spark, emitter=emitter)
    queries(spark, home, arguments.queries)  # the JVM compiles for a long while
    attachment.flush()
    bus, listeners = attachment._inbox._jsc, attachment._inbox._listeners
    order = random.Random(1)
    figures: dict[str, dict[bool, list[float]]] = {
        what: {False: [], True: []} for what in ("wall", "Python's processor", "JVM's processor")
    }
    for _ in range(arguments.rounds):
        for on in order.sample((False, True), 2):
            for listener in listeners:
                (bus.addSparkListener if on else bus.removeSparkListener)(listener)
            python, jvm = time.process_time(), jvm_seconds(spark)
            began = time.perf_counter()
            queries(spark, home, _BLOCK)
            attachment.flush()
            figures["wall"][on].append(time.perf_counter() - began)
            figures["Python's processor"][on].append(time.process_time() - python)
            figures["JVM's processor"][on].append(jvm_seconds(spark) - jvm)
    for what, seconds in figures.items():
        pairs = list(zip(seconds[False], seconds[True], strict=True))
        without = statistics.median(seconds[False])
        if what == "wall":
            print(f"a query without capture: {without / _BLOCK * 1000:.0f} ms; {len(pairs)} pairs of {_BLOCK} queries")
        found, low, high = middle([on - off for off, on in pairs])
        print(
            f"{what}: {found / _BLOCK * 1000:+.2f} ms a query ({low / _BLOCK * 1000:+.2f} to {high / _BLOCK * 1000:+.2f}), "
            f"{found / without * 100:+.1f} % ({low / without * 100:+.1f} to {high / without * 100:+.1f} %)",
            flush=True,
        )
    print(f"events: {emitter.count}; load: {os.getloadavg()[0]:.1f}")
    spark.stop()


def once(arguments: argparse.Namespace) -> None:
    """Print the cost of capture once for a program."""
    kept: Path | None = arguments.pairs
    took = [json.loads(line) for line in kept.read_text().splitlines()] if kept is not None and kept.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.first:
            seconds_of_a_program(True, folder)
        for turn in range(arguments.rounds):
            home = f"{folder}/{turn}" if arguments.first else folder
            pair = {on: seconds_of_a_program(on, home) for on in ((False, True) if turn % 2 == 0 else (True, False))}
            took.append([pair[False], pair[True]])
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps(took[-1]) + "\n")
    for place, what in enumerate(
        ("attach and the query", "until it is reported", "Python's processor", "JVM's processor")
    ):
        pairs = [(off[place], on[place]) for off, on in took]
        found, low, high = middle([on - off for off, on in pairs])
        without = statistics.median(off for off, _ in pairs)
        print(
            f"once, {what}: without {without:.3f} s, with capture {found:+.3f} s ({low:+.3f} to {high:+.3f}), {len(pairs)} pairs; "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def seconds_of_a_program(captured: bool, home: str) -> list[float]:
    """Run a program of its own, and return what `once_in_this_program` printed."""
    command = [sys.executable, __file__, "--single", "--work", "once", *(["--captured"] if captured else [])]
    environment = os.environ | {"HEADWATER_HOME": home}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
    return [float(part) for part in line.split()[1:]]


def once_in_this_program(captured: bool, home: str) -> None:
    spark = session(None, home)
    spark.range(1000).selectExpr("id", "id % 7 as kind").write.parquet(f"{home}/source")
    frame = spark.read.parquet(f"{home}/source").groupBy("kind").count()
    python, jvm, began = time.process_time(), jvm_seconds(spark), time.perf_counter()
    attachment = None
    if captured:
        from headwater.capture.spark import attach

        attachment = attach(spark, emitter=Nowhere())
    frame.write.parquet(f"{home}/out")
    ran = time.perf_counter() - began
    if attachment is not None:
        attachment.flush(60)
    reported = time.perf_counter() - began
    print("SECONDS", ran, reported, time.process_time() - python, jvm_seconds(spark) - jvm)
    spark.stop()


def alternating(arguments: argparse.Namespace, home: str) -> None:
    from headwater.capture.spark import attach

    spark = session(None, home)
    spark.range(1000).selectExpr("id", "id % 7 as kind").write.parquet(f"{home}/source")
    emitter = Nowhere()
    for warm in range(2):  # the JVM compiles for a long while
        attachment = attach(spark, emitter=emitter) if warm else None
        queries(spark, home, arguments.queries // 2)
        if attachment:
            attachment.detach()
    works: dict[str, Callable[[], float]] = {
        "queries": lambda: queries(spark, home, arguments.queries),
        "tasks": lambda: tasks(spark),
    }
    for name in arguments.work:
        work = works[name]
        figures: dict[str, dict[bool, list[float]]] = {
            what: {False: [], True: []} for what in ("wall", "Python's processor", "JVM's processor")
        }
        for turn in range(arguments.rounds * 2):
            on = turn % 4 in {1, 2}  # off on on off: a drift of the machine cancels out
            attachment = attach(spark, emitter=emitter) if on else None
            python, jvm = time.process_time(), jvm_seconds(spark)
            figures["wall"][on].append(work())
            if attachment:
                attachment.flush()
            figures["Python's processor"][on].append(time.process_time() - python)
            figures["JVM's processor"][on].append(jvm_seconds(spark) - jvm)
            if attachment:
                attachment.detach()
        for what, seconds in figures.items():
            without, with_it = statistics.mean(seconds[False]), statistics.mean(seconds[True])
            low, high = interval([on - off for off, on in zip(seconds[False], seconds[True], strict=True)])
            share = (
                f"{(with_it / without - 1) * 100:+.1f} % ({low / without * 100:+.1f} to {high / without * 100:+.1f} %)"
                if without > 0.05
                else ""
            )
            print(
                f"{name}, {what}: without {without:.3f} s, with {with_it:.3f} s {share} (means of {arguments.rounds} pairs)",
                flush=True,
            )
    print(f"events: {emitter.count}; load: {os.getloadavg()[0]:.1f}")
    spark.stop()


def single(arguments: argparse.Namespace, home: str) -> None:
    spark = session(arguments.jar, home)
    spark.range(1000).selectExpr("id", "id % 7 as kind").write.parquet(f"{home}/source")
    queries(spark, home, arguments.queries // 2)
    print("SECONDS", queries(spark, home, arguments.queries), tasks(spark))
    spark.stop()


def jar_turns(arguments: argparse.Namespace) -> None:
    took: dict[bool, list[list[float]]] = {False: [], True: []}
    for turn in range(arguments.rounds):
        for on in (False, True) if turn % 2 == 0 else (True, False):
            command = [sys.executable, __file__, "--single", "--queries", str(arguments.queries)]
            done = subprocess.run(
                command + (["--jar", arguments.jar] if on else []), capture_output=True, text=True, check=True
            )
            line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
            took[on].append([float(part) for part in line.split()[1:]])
    for i, name in enumerate(("queries", "tasks")):
        without = statistics.median(run[i] for run in took[False])
        with_it = statistics.median(run[i] for run in took[True])
        print(f"jar {name}: without {without:.3f} s, with {with_it:.3f} s: {(with_it / without - 1) * 100:+.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--work", nargs="*", default=["queries", "tasks"], choices=["queries", "tasks", "blocks", "once"]
    )
    parser.add_argument("--jar")
    parser.add_argument("--pairs", type=Path, help="the file of the pairs of `once`")
    parser.add_argument("--first", action="store_true", help="each program of `once` compiles the Java itself")
    parser.add_argument("--single", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--captured", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    home = tempfile.mkdtemp(prefix="headwater-overhead-")
    try:
        if arguments.single and arguments.work == ["once"]:
            once_in_this_program(arguments.captured, home)
        elif arguments.single:
            single(arguments, home)
        elif arguments.jar:
            if not Path(arguments.jar).exists():
                parser.error(f"no such file: {arguments.jar}")
            jar_turns(arguments)
        else:
            if "once" in arguments.work:
                once(arguments)
            if "blocks" in arguments.work:
                blocks(arguments, home)
            arguments.work = [name for name in arguments.work if name in {"queries", "tasks"}]
            if arguments.work:
                alternating(arguments, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
