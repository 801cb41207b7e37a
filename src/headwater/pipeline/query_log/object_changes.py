"""Changes of objects themselves (created, dropped, renamed, altered), each with its statement and actor: the warehouse's log of commits.

A row is a change of an object by a statement; the same change by the same actor, again and again on a day with no other of the object between, is
one. It is what the statements say, not what came of it: `if exists` may have changed nothing, which only the whole history of an object tells
(`answer/history/object_log`), and a statement in a branch of a script may not have run. A build under another name and its renaming, as dbt does it,
is one creation.
"""

from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import DATASETS, OBJECT_CHANGES
from headwater.pipeline.query_log.schema_moves import PART, SCHEMA, THERE, moves
from headwater.pipeline.query_log.touches import KEY

MOST: Final = 300
"""Changes of one object that are published, the newest."""
_LONGEST: Final = 2_000
_CHANGE: Final = (
    "struct<step:int,action:string,column:string,to:string,other:string,conditional:boolean,branch:boolean>"
)
_CHANGES: Final = f"array<struct<namespace:string,name:string,changes:array<{_CHANGE}>>>"
_STEP: Final = ("step", "action", "column", "to", "other", "conditional", "branch")
# Each of these is a change of its own, however often it is made: the order in which two objects change names decides which one has which.
_OF_NAMES: Final = ("renamed_from", "renamed_to", "swapped", "undropped")
_ACTOR: Final = ("actor", "actor_kind", "job_name")
_MOMENT: Final = ("at", "session", "line", "query_id")
_LINE: Final = r"/(\d+)$"


def object_changes(executions: DataFrame, statements: DataFrame, shapes: DataFrame) -> DataFrame:
    """OBJECT_CHANGES of statements (UNDERSTOOD) that ran to their end at least once."""
    told = statements.where(F.col("outputs").contains('"changes"')).select(
        *KEY, F.explode(F.from_json("outputs", _CHANGES)).alias("one")
    )
    every = told.select(
        *KEY, F.col("one.namespace").alias("of"), F.col("one.name").alias("name"), F.explode("one.changes").alias("change")
    )  # fmt: skip
    changes = every.select(*KEY, "of", "name", *(F.col(f"change.{name}") for name in _STEP)).fillna(0, ["step"])
    line = F.regexp_extract("query_id", _LINE, 1).try_cast("long")
    moment = {"at": F.coalesce("ended_at", "started_at"), "session": F.coalesce("session_id", F.lit("")), "line": line}
    ran = executions.where(F.col("state") == "succeeded").withColumns(moment)
    found = ran.join(changes, list(KEY)).select(*_MOMENT, *KEY, "of", "name", *_STEP, "day", *_ACTOR)
    if changes.where(F.col("action").startswith(SCHEMA)).isEmpty():
        found = _ordered(found)
    else:
        found = _with_moves(_ordered(found.unionByName(_uses(ran, statements, changes), allowMissingColumns=True)))
    texts = shapes.select("shape_id", F.substring("normalised", 1, _LONGEST).alias("statement"))
    whole = _collapsed(found).join(texts, "shape_id", "left").drop("namespace").withColumnRenamed("of", "namespace")
    return OBJECT_CHANGES.ordered(whole)


def _ordered(found: DataFrame) -> DataFrame:
    """The changes with times that are their order. A change is made when its statement ends; where a log's clock has the same time for several, they
    are put a microsecond apart in the order of their session's lines."""
    same = Window.partitionBy("of", "at").orderBy("session", "line", "query_id", "step")
    later = F.dense_rank().over(same) - 1
    return found.withColumn("at", F.timestamp_micros(F.unix_micros("at") + later)).drop("session", "line")


def _uses(ran: DataFrame, statements: DataFrame, changes: DataFrame) -> DataFrame:
    """The uses of tables by statements that do not change them, the first and the last of each day: rows of `THERE`."""
    none = F.array().cast(DATASETS.simpleString())
    every = F.array_distinct(F.concat(F.coalesce("reads", none), F.coalesce("writes", none)))
    used = statements.select(*KEY, F.explode(every).alias("one"))
    used = used.select(*KEY, F.col("one.namespace").alias("of"), F.col("one.name").alias("name"))
    used = used.join(changes.select(*KEY, "of", "name").distinct(), [*KEY, "of", "name"], "left_anti")
    moment = F.struct(*_MOMENT)
    times = ran.groupBy(*KEY, "day").agg(F.array_distinct(F.array(F.min(moment), F.max(moment))).alias("times"))
    each = times.join(used, list(KEY)).select("of", "name", F.explode("times").alias("time"))
    return each.select("of", "name", "time.*", F.lit(THERE).alias("action"), F.lit(-1).alias("step"))


def _with_moves(found: DataFrame) -> DataFrame:
    """The changes, without uses, and with those of the tables of a schema in place of its own."""
    is_schema = F.col("action").startswith(SCHEMA)
    spaces = found.where(is_schema).select("of").distinct()
    kind = found.schema

    def follow_schemas(table: Any) -> Any:
        import pyarrow

        rows = sorted(table.to_pylist(), key=lambda row: (row["at"], row["step"], row["name"]))
        return pyarrow.Table.from_pylist(list(moves(rows)), schema=table.schema)

    moved = (
        found.join(spaces, "of", "left_semi").select(*found.columns).groupBy("of").applyInArrow(follow_schemas, kind)
    )
    return found.where(~is_schema & (F.col("action") != THERE)).unionByName(moved)


def _collapsed(found: DataFrame) -> DataFrame:
    """One row for what is repeated without another change of the object between."""
    same = F.struct("shape_id", "place", "day", *_ACTOR, F.when(F.col("action").isin(*_OF_NAMES), F.col("at")))
    order = Window.partitionBy("of", "name").orderBy("at", "action")
    begins = F.when(~same.eqNullSafe(F.lag(same).over(order)), 1).otherwise(0)
    stretches = found.withColumn("begins", begins).withColumn("stretch", F.sum("begins").over(order))
    by = [*KEY, "of", "name", "stretch", *_STEP, *_ACTOR]
    return stretches.groupBy(*by).agg(
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.count(F.lit(1)).alias("executions"),
        F.max_by("query_id", "at").alias("query_id"),
    )


def listed(changes: DataFrame) -> DataFrame:
    """namespace, name, changes: the newest MOST of each object in their order, and `left_out`, how many are older."""
    newest = Window.partitionBy("namespace", "name").orderBy(*(F.desc(name) for name in _ORDER))
    ranked = changes.where(F.col("action") != PART).withColumn("rank", F.row_number().over(newest))
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
    "branch",
    "last_at",
    "executions",
    "actor",
    "actor_kind",
    "job_name",
    "statement",
)
