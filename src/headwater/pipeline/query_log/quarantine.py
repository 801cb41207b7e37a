"""The quarantine of a log's unusable rows, with the reason: each reason of each thing once, however often it comes."""

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import QUARANTINE
from headwater.pipeline.stages import Desk


def quarantine(desk: Desk, found: DataFrame) -> int:
    """Put rows into quarantine, each by its first time and its least file; how many are new. Written and counted in one job."""
    told = [name for name in QUARANTINE.columns() if name not in {*QUARANTINE.key, "at"}]
    folded = (
        desk.read(QUARANTINE)
        .withColumn("new", F.lit(0))
        .unionByName(found.select(*QUARANTINE.columns(), F.lit(1).alias("new")))
        .groupBy(*QUARANTINE.key)
        .agg(F.min(F.struct(*told)).alias("told"), F.min("at").alias("at"), F.min("new").alias("new"))
    )
    counted = Observation()
    watched = folded.observe(counted, F.sum("new").alias("new"))
    desk.replace(QUARANTINE, watched.select(*QUARANTINE.key, "told.*", "at"))
    return int(counted.get["new"] or 0)
