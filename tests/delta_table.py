"""A Delta table with a history, made by Spark: `spark-submit delta_table.py PATH`. By day; the last version has other rows on 6 March."""

import sys

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
path = sys.argv[1]


def write(day: str, rows: str, **options: str) -> None:
    """Rows of one day, instead of those that it had."""
    some = spark.sql(
        f"select id, concat('reader ', id) as who, cast(id * 1.5 as double) as took, date'{day}' as day from {rows}"
    )
    writer = some.coalesce(1).write.format("delta").mode("overwrite").option("replaceWhere", f"day = '{day}'")
    writer.partitionBy("day").save(path)


write("2024-03-05", "range(5)")
write("2024-03-06", "range(10, 17)")
write("2024-03-07", "range(20, 23)")
write("2024-03-06", "range(90, 92)")
spark.stop()
