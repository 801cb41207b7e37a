"""Shapes: what the texts of a log have in common, each with one text to read.

That text is the least of its texts without values, by length and then by letter, so it is the same whatever came first. A batch may bring a
lesser one: then what was read is read again.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.query_log.schema import SHAPES


def shapes(known: DataFrame, identified: DataFrame) -> DataFrame:
    """SHAPES of those known (SHAPES) and of `texts.identified`'s."""
    both = known.select(*SHAPES.columns()).unionByName(identified.select(*SHAPES.columns()))
    rest = [name for name in SHAPES.columns() if name not in {"shape_id", "text"}]
    least = F.min(F.struct(F.length("text").alias("length"), "text", *rest)).alias("least")
    found = both.groupBy("shape_id").agg(least)
    return found.select("shape_id", "least.text", *(F.col(f"least.{name}") for name in rest)).select(*SHAPES.columns())


def changed(known: DataFrame, now: DataFrame) -> DataFrame:
    """The ids of shapes (`shape_id`) whose text is not the one it was."""
    before = known.select("shape_id", F.col("text").alias("before"))
    return now.join(before, "shape_id").where(F.col("text") != F.col("before")).select("shape_id")
