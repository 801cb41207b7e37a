"""The Spark application that copies rows of a stored version of a Delta table over those that are there now: `spark-submit restore_delta.py JSON`.

It runs wherever Spark does, so it knows nothing of Headwater but what it is told. One commit, of these rows only. It has a name, which Delta takes
once: the same told again changes nothing.
"""

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


def copy(spark: SparkSession, told: dict[str, Any]) -> None:
    """table, version: what is read; where: which rows; name: of the commit; rows: how many there must be, None if unknown."""
    rows = spark.read.format("delta").option("versionAsOf", told["version"]).load(told["table"]).where(told["where"])
    count = rows.count()
    if told["rows"] not in (None, count):
        sys.exit(
            f"version {told['version']} of {told['table']} has {count} rows where {told['where']}, and not {told['rows']} as reported"
        )
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", told["where"])
    named = writer.option("userMetadata", told["name"]).option("txnAppId", told["name"]).option("txnVersion", 1)
    named.save(told["table"])


if __name__ == "__main__":
    session = (
        SparkSession.builder.appName("headwater restore")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )
    copy(session, json.loads(sys.argv[1]))
    session.stop()
