from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()


@dp.materialized_view
def adults():
    people = spark.read.parquet("{folder}/people")
    return people.where("age > 18").select("id", F.upper("name").alias("name"), "age")


@dp.table
def orders_seen():
    return spark.readStream.schema("no int, person int, amount double").parquet("{folder}/orders")


@dp.temporary_view
def joined():
    return spark.read.table("orders_seen").join(spark.read.table("adults"), F.col("person") == F.col("id"))


dp.create_streaming_table("both")


@dp.append_flow(target="both")
def first():
    return spark.readStream.table("orders_seen").select("no", "amount")
