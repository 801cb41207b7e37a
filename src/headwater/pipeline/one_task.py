"""Small tables in one task: no exchange between tasks, no plan that is made again on the way, no broadcast, so one job where there were ten.

Spark plans for what is large: each grouping and each join is an exchange, each exchange a job of its own whose sizes decide about the next. For a few
megabytes that planning is nearly all of the time. Tables that are read as one partition fit any grouping and any join as they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import DataFrame, SparkSession

BYTES: Final = 8 << 20
"""Bytes of Parquet, up to which one task is sooner done than several are planned."""
DIRECTORIES: Final = 200
"""Each is opened by itself, which several tasks do sooner."""
_SETTINGS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Broadcasts that are asked for by name, which are for what is large on the other side.
    "spark.sql.optimizer.disableHints": "true",
    # The description of a plan in Spark's own pages, which is written down for each job.
    "spark.sql.ui.explainMode": "simple",
    # For input that comes in several partitions all the same: a union.
    "spark.sql.shuffle.partitions": "1",
}


@contextmanager
def planned_for_one_task(spark: SparkSession) -> Iterator[None]:
    """The session's plans are such in the block, and afterwards as they were."""
    before = {name: spark.conf.get(name) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))


def spread(rows: DataFrame, tasks: int, key: str) -> DataFrame:
    """The rows over so many tasks, by a column; to one without an exchange."""
    return rows.coalesce(1) if tasks == 1 else rows.repartition(tasks, key)
