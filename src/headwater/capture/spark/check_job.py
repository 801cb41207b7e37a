"""The job of `check`: run as a program of its own, it says what it did, what it could not do, and what became of its events."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from headwater.capture.spark import check
from headwater.capture.spark.attachment import attach
from headwater.client.emitter import Emitter

_PATIENCE = 10.0


def main() -> None:
    """Run the job: `check_job FOLDER FACTS MASTER`; an empty master is the configured one."""
    folder, facts, master = sys.argv[1:]
    # Only Python itself imports it: where Headwater is installed, and the variable is set.
    installed = "headwater.capture.spark.waiting" in sys.modules
    import pyspark
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    chosen = master or str(SparkConf().get("spark.master", "local[1]"))
    builder = SparkSession.builder.appName(check.APPLICATION).master(chosen)
    spark = (
        builder.config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    attachment = attach(spark)
    done, skipped = _run(spark, folder)
    java = str(spark._jvm.java.lang.System.getProperty("java.version"))
    setting = check.Setting(
        sys.version.split()[0], str(pyspark.__version__), java, str(spark.sparkContext.master), installed
    )
    spark.stop()
    attachment.flush(_PATIENCE)
    answer = {"setting": setting, "sent": _sent(attachment.emitter), "done": done, "skipped": skipped}
    Path(facts).write_bytes(msgspec.json.encode(answer))


def _run(spark: Any, folder: str) -> tuple[list[str], dict[str, str]]:
    orders = f"{folder}/orders"
    spark.createDataFrame([(1, 20, "north"), (2, 30, "south"), (3, 5, "north")], ["id", "amount", "region"]).coalesce(
        1
    ).write.csv(orders, header=True, mode="overwrite")
    read = spark.read.csv(orders, header=True, inferSchema=True)
    read.groupBy("region").agg({"amount": "sum"}).withColumnRenamed("sum(amount)", "total").write.parquet(
        f"{folder}/totals", mode="overwrite"
    )
    done, skipped = [check.READ, check.WROTE], dict[str, str]()
    with _or_skipped(check.FUNCTION, done, skipped):
        read.mapInPandas(_scored(), "score double").write.parquet(f"{folder}/scores", mode="overwrite")
    spark.sparkContext.textFile(orders).map(_upper).saveAsTextFile(f"{folder}/lines")
    return [*done, check.RDD], skipped


@contextlib.contextmanager
def _or_skipped(does: str, done: list[str], skipped: dict[str, str]) -> Iterator[None]:
    try:
        yield
        done.append(does)
    except ImportError as error:
        skipped[does] = str(error)


def _scored() -> Callable[[Any], Any]:
    """Raises ImportError where pandas or PyArrow is missing."""
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401

    def score(batches: Any) -> Any:
        for batch in batches:
            yield batch[["amount"]].rename(columns={"amount": "score"}).astype("float64")

    return score


def _upper(line: str) -> str:
    return line.upper()


def _sent(emitter: object) -> dict[str, tuple[int, int, int, str | None]]:
    if not isinstance(emitter, Emitter):
        return {}
    return {
        to: (tally.delivered, tally.pending, tally.rejected + tally.dropped, tally.last_error)
        for to, tally in emitter.tallies().items()
        if not to.startswith("file://")
    }


if __name__ == "__main__":
    main()
