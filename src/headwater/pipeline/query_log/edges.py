"""Statements and how often they ran to edges: between datasets, and between columns with what one does to the other.

An edge is of what ran to its end at least once. Temporary tables are in no edge: what is read through one of its session
(`sessions`) is read from what it was filled from.
A dataset that is read and written by the same statement has no edge to itself; a column may have one to another of its dataset.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.query_log.schema import COLUMN_EDGES, EDGES

EVERY: Final = "*"
"""The column that stands for all of a dataset's: where what decides about rows goes to."""
_INPUTS: Final = (
    "array<struct<namespace:string,name:string,field:string,transformations:array<struct<type:string,subtype:string>>>>"
)
_LINEAGE: Final = f"struct<fields:map<string,struct<inputFields:{_INPUTS}>>,dataset:{_INPUTS}>"
_OUTPUTS: Final = f"array<struct<namespace:string,name:string,facets:struct<columnLineage:{_LINEAGE}>>>"
_KEY: Final = ("namespace", "shape_id", "place")


def runs(daily: DataFrame) -> DataFrame:
    """Count each shape's successful executions at each place: namespace, shape_id, place, first_at, last_at, executions."""
    ended = daily.where(F.col("shape_id").isNotNull() & (F.col("executions") > F.col("failures")))
    return ended.groupBy(*_KEY).agg(
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.sum(F.col("executions") - F.col("failures")).alias("executions"),
    )


def edges(statements: DataFrame, daily: DataFrame) -> DataFrame:
    """EDGES of UNDERSTOOD and DAILY."""
    lasting = statements.where(~F.coalesce("temporary", F.lit(False)))
    pairs = lasting.select(*_KEY, F.explode("reads").alias("r"), "writes", "through").select(
        *_KEY, "r", F.explode("writes").alias("w"), _is_through("r")
    )
    ends = pairs.where(F.col("r") != F.col("w")).join(runs(daily), list(_KEY))
    named = ends.select(
        F.col("r.namespace").alias("from_namespace"),
        F.col("r.name").alias("from_name"),
        F.col("w.namespace").alias("to_namespace"),
        F.col("w.name").alias("to_name"),
        "shape_id",
        "first_at",
        "last_at",
        "executions",
        "through",
    )
    return EDGES.ordered(_summed(_between_lasting(named, statements), EDGES.key))


def column_edges(statements: DataFrame, daily: DataFrame) -> DataFrame:
    """COLUMN_EDGES of UNDERSTOOD and DAILY. Columns that decide about all rows of a dataset go to its column `*`."""
    lasting = statements.where(~F.coalesce("temporary", F.lit(False)))
    output = lasting.select(*_KEY, "through", F.explode(F.from_json("outputs", _OUTPUTS)).alias("o"))
    lineage = F.col("o.facets.columnLineage")
    fields = output.select(*_KEY, "through", "o", F.explode(lineage["fields"]).alias("to_column", "f")).select(
        *_KEY, "through", "o", "to_column", F.explode("f.inputFields").alias("i")
    )
    rows = output.select(
        *_KEY, "through", "o", F.lit(EVERY).alias("to_column"), F.explode(lineage["dataset"]).alias("i")
    )
    kinds = fields.unionByName(rows).select(
        *_KEY, _is_through("i"), "o", "to_column", "i", F.explode("i.transformations").alias("t")
    )
    named = kinds.join(runs(daily), list(_KEY)).select(
        F.col("i.namespace").alias("from_namespace"),
        F.col("i.name").alias("from_name"),
        F.col("i.field").alias("from_column"),
        F.col("o.namespace").alias("to_namespace"),
        F.col("o.name").alias("to_name"),
        "to_column",
        F.col("t.type").alias("kind"),
        F.col("t.subtype").alias("subtype"),
        "shape_id",
        "first_at",
        "last_at",
        "executions",
        "through",
    )
    return COLUMN_EDGES.ordered(_summed(_between_lasting(named, statements), COLUMN_EDGES.key))


def _summed(named: DataFrame, key: tuple[str, ...]) -> DataFrame:
    return named.groupBy(*key).agg(
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.sum("executions").alias("executions"),
        F.min("through").alias("through"),
    )


def _is_through(name: str) -> Column:
    """Return whether the statement reads the dataset in this column through temporary tables only."""
    same = F.exists(
        "through", lambda one: (one["namespace"] == F.col(f"{name}.namespace")) & (one["name"] == F.col(f"{name}.name"))
    )
    return F.coalesce(same, F.lit(False)).alias("through")


def _between_lasting(named: DataFrame, statements: DataFrame) -> DataFrame:
    """Edges without those that begin or end at a temporary table: one that a temporary statement writes, and no other statement creates."""
    written = statements.select(
        F.explode("writes").alias("w"), F.coalesce("temporary", F.lit(False)).alias("t"), "kind"
    )
    marked = written.groupBy("w").agg(
        F.max("t").alias("temporary"),
        F.max(~F.col("t") & F.coalesce(F.col("kind").startswith("CREATE"), F.lit(False))).alias("created"),
    )
    gone = marked.where(F.col("temporary") & ~F.col("created")).select("w.namespace", "w.name")
    for end in ("from", "to"):
        ends = gone.select(F.col("namespace").alias(f"{end}_namespace"), F.col("name").alias(f"{end}_name"))
        named = named.join(ends, [f"{end}_namespace", f"{end}_name"], "left_anti")
    return named
