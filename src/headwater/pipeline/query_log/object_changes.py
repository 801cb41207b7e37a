"""Changes of objects themselves (created, dropped, renamed, altered), each with its statement and actor: the warehouse's log of commits.

One row for each object, day, statement and actor; what the statements say, not what came of it: `if exists` may have changed nothing, which only the
whole history of an object tells (`answer/history/object_log`). A build under another name and its renaming, as dbt does it, is one creation.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import OBJECT_CHANGES
from headwater.pipeline.query_log.touches import KEY

MOST: Final = 300
"""Changes of one object that are published, the newest."""
_LONGEST: Final = 2_000
_CHANGE: Final = "struct<action:string,column:string,to:string,other:string,conditional:boolean>"
_CHANGES: Final = f"array<struct<namespace:string,name:string,changes:array<{_CHANGE}>>>"


def object_changes(daily: DataFrame, statements: DataFrame, shapes: DataFrame) -> DataFrame:
    """OBJECT_CHANGES of statements (UNDERSTOOD) that ran to their end at least once."""
    told = statements.where(F.col("outputs").contains('"changes"')).select(
        *KEY, F.explode(F.from_json("outputs", _CHANGES)).alias("one")
    )
    changes = told.select(
        *KEY,
        F.col("one.namespace").alias("of"),
        F.col("one.name").alias("name"),
        F.posexplode("one.changes").alias("step", "change"),
    )
    ran = daily.where(F.col("executions") > F.col("failures")).select(
        *KEY, "first_at", "last_at", (F.col("executions") - F.col("failures")).alias("executions"), "actor", "actor_kind", "job_name",
        F.col("last_query_id").alias("query_id"),
    )  # fmt: skip
    texts = shapes.select("shape_id", F.substring("normalised", 1, _LONGEST).alias("statement"))
    named = {name: F.col(f"change.{name}") for name in ("action", "column", "to", "other", "conditional")}
    found = ran.join(changes, list(KEY)).join(texts, "shape_id", "left").drop("namespace")
    return OBJECT_CHANGES.ordered(found.withColumns(named).withColumnRenamed("of", "namespace"))


def listed(changes: DataFrame) -> DataFrame:
    """namespace, name, changes: the newest MOST of each object in their order, and `left_out`, how many are older."""
    newest = Window.partitionBy("namespace", "name").orderBy(*(F.desc(name) for name in _ORDER))
    ranked = changes.withColumn("rank", F.row_number().over(newest))
    kept: Column = F.when(F.col("rank") <= MOST, F.struct(*_ORDER, *_REST))
    grouped = ranked.groupBy("namespace", "name").agg(
        F.sort_array(F.collect_list(kept)).alias("items"), F.count(F.when(F.col("rank") > MOST, 1)).alias("left_out")
    )
    # What is empty says nothing.
    items = F.transform("items", lambda one: one.dropFields("step"))
    return grouped.select("namespace", "name", F.struct(items.alias("items"), "left_out").alias("changes"))


_ORDER: Final = ("first_at", "query_id", "step", "action")
_REST: Final = (
    "column",
    "to",
    "other",
    "conditional",
    "last_at",
    "executions",
    "actor",
    "actor_kind",
    "job_name",
    "statement",
)
