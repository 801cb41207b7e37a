"""`headwater fingerprint` against the shell's own way, and a DataFrame's rows against reading them.

    python benchmarks/micro/fingerprint_content.py [--gigabytes 1.1] [--runs 5] [--rows 4000000] [--only files|rows]

Files: a smart-meter export is made (and deleted after); both programs run in turns, wall time of whole processes with their start, and
the files are in the page cache. Rows: the same Parquet is counted (`count()`, which reads no column; a count of each column; a write to
`noop`, which decodes them all) and fingerprinted in turns in one session.
"""

import argparse
import gzip
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def export(path: Path, size: int) -> None:
    """A CSV of 15-minute readings: meter, time, kWh, meter reading, quality."""
    rng = random.Random(2026)
    meters = [f"DE{rng.randrange(10**11):011d}" for _ in range(5000)]
    times = [f"T{quarter // 4:02d}:{quarter % 4 * 15:02d}:00Z" for quarter in range(96)]
    written, day = 0, 0
    with path.open("wb") as file:
        written += file.write(b"meter_id,read_at,kwh,reading,quality\n")
        while written < size:
            day += 1
            date = f"2026-{1 + day // 28 % 12:02d}-{1 + day % 28:02d}"
            for meter in meters:
                level, total, lines = rng.random(), rng.random() * 90_000, []
                for moment in times:
                    used = level * rng.random()
                    total += used
                    lines.append(
                        f"{meter},{date}{moment},{used:.3f},{total:.3f},{'A' if rng.random() < 0.97 else 'E'}\n"
                    )
                written += file.write("".join(lines).encode())
                if written >= size:
                    break


def seconds(command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def in_turns(named: dict[str, Callable[[], float]], runs: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(runs):
        for name, call in named.items():
            found[name].append(call())
    return found


def report(found: dict[str, list[float]], ours: str) -> None:
    mine = statistics.median(found[ours])
    for name, times in found.items():
        ratio = (
            ""
            if name == ours
            else f"   / ours = {statistics.median(times) / mine:.2f} (best to best {min(times) / min(found[ours]):.2f})"
        )
        print(f"  {name:<34} median {statistics.median(times):6.3f} s  best {min(times):6.3f} s{ratio}", flush=True)


def files(folder: Path, gigabytes: float, runs: int) -> None:
    plain, packed = folder / "readings.csv", folder / "readings.csv.gz"
    export(plain, int(gigabytes * 1e9))
    with plain.open("rb") as source, gzip.open(packed, "wb", 6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    sizes = f"{plain.stat().st_size / 1e9:.2f} GB of content, {packed.stat().st_size / 1e9:.2f} GB as gzip"
    ours = shutil.which("headwater") or f"{sys.executable} -m headwater"
    a, b = shlex.quote(str(plain)), shlex.quote(str(packed))
    said = {
        command: subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout.split()[0]
        for command in (
            f"{ours} fingerprint {a}",
            f"{ours} fingerprint {b}",
            f"gunzip -c {b} | xxhsum -H2",
            f"xxhsum -H2 {a}",
        )
    }
    if len({text.removeprefix("xxh3-128:") for text in said.values()}) != 1:
        raise SystemExit(f"they do not agree: {said}")
    print(f"{sizes}; all four say the same")
    for title, mine, theirs in (
        ("gzip", f"{ours} fingerprint {b}", f"gunzip -c {b} | xxhsum -H2"),
        ("plain", f"{ours} fingerprint {a}", f"xxhsum -H2 {a}"),
    ):
        print(f"{title}:")
        names = {"headwater fingerprint": mine, theirs.replace(a, "FILE").replace(b, "FILE"): theirs}
        report(in_turns({name: lambda c=c: seconds(c) for name, c in names.items()}, runs), "headwater fingerprint")  # type: ignore[misc]


def rows(folder: Path, count: int, runs: int) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    from headwater.capture.spark.fingerprint import rows_fingerprint

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    meters = count // 96
    spark.range(0, count, 1, 4).select(
        F.concat(F.lit("DE"), F.lpad((F.col("id") % meters).cast("string"), 11, "0")).alias("meter_id"),
        F.timestamp_seconds(F.lit(1_760_000_000) + (F.col("id") / meters).cast("long") * 900).alias("read_at"),
        F.round(F.rand(1) * 2, 3).alias("kwh"),
        (F.rand(2) * 100_000).cast("decimal(12,3)").alias("reading"),
        F.when(F.rand(3) < 0.97, "A").otherwise("E").alias("quality"),
        F.when(F.rand(4) < 0.9, F.col("id")).alias("batch"),
    ).write.parquet(str(folder / "parquet"))
    frame = spark.read.parquet(str(folder / "parquet"))

    def timed(call: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            began = time.perf_counter()
            call()
            return time.perf_counter() - began

        return run

    named = {
        "rows_fingerprint(df)": timed(lambda: rows_fingerprint(frame)),
        "df.count(), which reads no column": timed(frame.count),
        "count(column) of each column": timed(lambda: frame.agg(*map(F.count, frame.columns)).collect()),
        "write to noop": timed(lambda: frame.write.format("noop").mode("overwrite").save()),
    }
    in_turns(named, 3)  # the JVM warms up
    print(f"{count:,} rows of {len(frame.columns)} columns, Parquet, local[2]:")
    report(in_turns(named, runs), "rows_fingerprint(df)")
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", choices=["files", "rows"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.only != "rows":
            files(Path(folder), asked.gigabytes, asked.runs)
        if asked.only != "files":
            rows(Path(folder), asked.rows, asked.runs)


if __name__ == "__main__":
    main()
