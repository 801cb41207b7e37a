"""A Spark application that copies rows of a stored version of a Delta table over the present ones: `spark-submit restore_delta.py JSON`.

It runs where Spark does and imports nothing of Headwater. It makes one commit, of these rows only. Delta accepts the commit's name once: a
repetition changes nothing.
"""

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


def copy(spark: SparkSession, request: dict[str, Any]) -> None:
    """Copy rows. table, version: the source; where: its rows; name: of the commit; rows: the required number, None if unknown."""
    rows = (
        spark.read.format("delta")
        .option("versionAsOf", request["version"])
        .load(request["table"])
        .where(request["where"])
    )
    count = rows.count()
    if request["rows"] not in (None, count):
        sys.exit(
            f"version {request['version']} of {request['table']} has {count} rows where {request['where']}, and not {request['rows']} as reported"
        )
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", request["where"])
    named = writer.option("userMetadata", request["name"]).option("txnAppId", request["name"]).option("txnVersion", 1)
    named.save(request["table"])


if __name__ == "__main__":
    session = (
        SparkSession.builder.appName("headwater server restore")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .getOrCreate()
    )
    copy(session, json.loads(sys.argv[1]))
    session.stop()
