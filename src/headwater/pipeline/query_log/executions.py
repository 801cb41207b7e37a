"""Landed rows to executions: one row a query, without its text, in partitions by the day it started.

A log may report a query repeatedly: by the same file read twice, by overlapping exports, by a snapshot taken while it ran, by two logs of which each
has a part. Its rows are folded by greatest values, so the outcome depends on the set of rows and neither on their order nor on how many batches
they came in. Values that belong together are taken from one row (the text and its names' meaning; the actor; the end), the rest column by
column: a row with fewer values removes none.

A query is known by source, namespace, id and the day it started: an id with two days is two queries.

Folding sorts wide rows. Most logs report most queries once, so repeated ones are found first, by hashes alone, and only these are folded.
"""

from collections.abc import Mapping
from datetime import date
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import EXECUTIONS, WHO_COLUMNS, place
from headwater.pipeline.query_log.who.assets import history_slug

# Rows of a day that one task folds and one file holds, more or less.
BUCKET_ROWS: Final = 500_000
# Queries reported more than once that are looked up in memory; past them everything is folded.
REPEATED_AT_MOST: Final = 200_000
# Files that a day may come out as without an exchange, on average.
FILES_A_DAY: Final = 4

# The text, and what it means. A row without text has a null first and loses against any that has one.
_TEXT: Final = ("text_key", "shape_id", "dialect", "database", "schema", "search_path", "place", "statement_kind")
_WHO: Final = (*(field.name for field in WHO_COLUMNS.fields), "tool_run", "who_version")
_OUTCOME: Final = ("ended_at", "state_rank", "state", "error")
# The weight of what is known of the actor: a job is worth more than a tool, a tool more than the kind of actor.
_KNOWING: Final = "if(job_name is not null, 4, 0) + if(tool is not null, 2, 0) + if(actor_kind != 'unknown', 1, 0)"
_KEY: Final = ("day", "source", "namespace", "query_id")
_STATES: Final = ("succeeded", "cancelled", "failed")


def incoming(landed: DataFrame, texts: DataFrame, who_version: int = 0) -> DataFrame:
    """Landed rows (with the who columns) as executions: with `place` and `shape_id`, without text. `money` is null: `priced` sets it.

    `who_version`: the version of the settings that named the actor; the actor by later settings wins.
    """
    known = texts.select("text_key", "dialect", "shape_id")
    placed = landed.withColumn("place", place()).withColumn("money", F.lit(None).cast("double"))
    placed = placed.withColumn("tool_run", history_slug()).withColumn("who_version", F.lit(who_version).cast("long"))
    return EXECUTIONS.ordered(placed.join(known, ["text_key", "dialect"], "left"))


def merged(
    before: DataFrame, arrived: DataFrame, landed: DataFrame, rows_of_day: Mapping[date, int] | None
) -> DataFrame:
    """One row a query of those `before` (of the days touched) and those that arrived, all of EXECUTIONS' columns.

    `landed`: rows with the key of each of `arrived`, cheap to read, which are read first. `rows_of_day`: how many rows each day has in all, to cut
    large days into several files. Nothing but the layout of files depends on it. Small counts come to the driver. None: they are few, and one task
    folds them all.
    """
    columns = EXECUTIONS.columns()
    if rows_of_day is None:
        return folded(EXECUTIONS.ordered(before).unionByName(EXECUTIONS.ordered(arrived)).coalesce(1), None)
    keys = [rows.select("day", _hash().alias("key")) for rows in (before, landed)]
    counted = keys[0].unionByName(keys[1]).groupBy("day", "key").agg(F.count(F.lit(1)).alias("n"))
    repeated = counted.where(F.col("n") > 1).select("day", "key").persist()
    together = EXECUTIONS.ordered(before).unionByName(EXECUTIONS.ordered(arrived)).withColumn("key", _hash())
    times = repeated.count()
    if times > REPEATED_AT_MOST:
        repeated.unpersist()
        return folded(together, rows_of_day)
    alone = together
    if times:
        alone = together.join(F.broadcast(repeated), ["day", "key"], "left_anti")
    if _scattered(landed):
        alone = _spread(alone, rows_of_day)
    if not times:
        return alone.select(*columns)
    twice = together.join(F.broadcast(repeated), ["day", "key"], "left_semi")
    return alone.select(*columns).unionByName(folded(twice, rows_of_day))


def folded(rows: DataFrame, rows_of_day: Mapping[date, int] | None) -> DataFrame:
    """One row a query of all that are given. `rows_of_day` is as for `merged`."""
    columns = EXECUTIONS.columns()
    rank = reduce(
        lambda chain, state: chain.when(F.col("state") == state, F.lit(_STATES.index(state))),
        _STATES[1:],
        F.when(F.lit(False), F.lit(-1)),
    ).otherwise(F.lit(0))
    spread = rows.withColumn("state_rank", rank)
    by = list(_KEY)
    if rows_of_day is not None:
        # One exchange serves the folding and the files: each task has whole buckets of days.
        spread = _spread(spread.withColumn("key", _hash()), rows_of_day)
        by.insert(1, "bucket")
    apart = [name for name in columns if name not in {*_TEXT, *_WHO, *_OUTCOME, *_KEY, "started_at", "file"}]
    # As text: hundreds of messages to the JVM less.
    who = ", ".join(("coalesce(who_version, 0) as version", f"{_KNOWING} as knowing", *_WHO))
    made = spread.groupBy(*by).agg(
        F.expr("min(started_at) as started_at"),
        F.expr("min(file) as file"),
        F.expr(f"max(struct({', '.join(_TEXT)})) as text"),
        F.expr(f"max(struct({who})) as who"),
        F.expr(f"max(struct({', '.join(_OUTCOME)})) as outcome"),
        *(F.expr(f"max({name}) as {name}") for name in apart),
    )
    whose = {name: whole for whole, names in (("text", _TEXT), ("who", _WHO), ("outcome", _OUTCOME)) for name in names}
    return made.selectExpr(*(f"{whose[name]}.{name}" if name in whose else name for name in columns))


def _hash() -> Column:
    # Two queries of one hash are both folded, by their whole keys: a collision costs time and nothing else.
    return F.xxhash64("source", "namespace", "query_id")


def _spread(rows: DataFrame, rows_of_day: Mapping[date, int]) -> DataFrame:
    buckets = max(1, -(-max(rows_of_day.values(), default=0) // BUCKET_ROWS))
    return rows.withColumn("bucket", F.pmod(F.col("key"), F.lit(buckets))).repartition("day", "bucket")


def _scattered(landed: DataFrame) -> bool:
    """Return whether the rows of a day lie all over the input, so that every task would write a file of every day."""
    pieces = landed.select("day", F.spark_partition_id().alias("task")).distinct()
    row = pieces.agg(F.count(F.lit(1)).alias("files"), F.count_distinct("day").alias("days")).first()
    return row is not None and row["files"] > FILES_A_DAY * row["days"]
