"""Make an archive of the classes that a small Spark program loads: `python scripts/spark-classes.py ARCHIVE FOLDER`.

The program does a little of everything that tests do, so that its JVM has met the classes when it writes them down at its end.
"""

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(archive: str, folder: str) -> None:
    options = f"--driver-java-options '-XX:ArchiveClassesAtExit={archive} -Xlog:cds=off -Xlog:cds+dynamic=off'"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[2] {options} --conf spark.ui.enabled=false pyspark-shell"
    with tempfile.TemporaryDirectory(dir=folder) as place:
        builder = SparkSession.builder.config("spark.sql.warehouse.dir", f"{place}/warehouse")
        spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        exercise(spark, Path(place))
    gateway = spark.sparkContext._gateway
    spark.stop()
    # The JVM ends when its standard input does; the archive is there when it has ended.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def exercise(spark: SparkSession, place: Path) -> None:
    rows = spark.range(1000).select("id", (F.col("id") % 7).alias("part"), F.col("id").cast("string").alias("name"))
    rows = rows.withColumn("at", F.timestamp_seconds("id")).withColumn("both", F.struct("id", "name"))
    for kind in ("parquet", "json", "orc"):
        rows.write.format(kind).mode("overwrite").save(str(place / kind))
        spark.read.format(kind).load(str(place / kind)).groupBy("part").agg(
            F.sum("id"), F.count_distinct("name")
        ).collect()
    rows.drop("both").write.option("header", True).partitionBy("part").csv(str(place / "csv"))
    spark.read.option("header", True).csv(str(place / "csv")).createOrReplaceTempView("texts")
    rows.createOrReplaceTempView("numbers")
    spark.sql(
        "with few as (select * from numbers where id < 50) select f.part, max(t.name), row_number() over (order by f.part)"
        " from few f left join texts t on f.id = t.id group by f.part order by 1"
    ).collect()
    rows.writeTo("written").create()
    spark.sql("insert into written select * from numbers")
    spark.table("written").selectExpr("explode(array(id, part)) as one").distinct().collect()
    plus = F.udf(lambda value: value + 1, "long")
    rows.select(plus("id")).collect()
    rows.select("id").mapInPandas(lambda frames: frames, "id long").collect()
    spark.createDataFrame([(1, "a")], "no int, word string").toPandas()


if __name__ == "__main__":
    main(*sys.argv[1:])
