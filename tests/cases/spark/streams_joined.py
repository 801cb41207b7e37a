start = F.lit("2026-01-01").cast("timestamp")
people = spark.readStream.schema("id int, name string, city string, age int").parquet(f"{land}/people")
orders = spark.readStream.schema("no int, person int, amount double, kind string").parquet(f"{land}/orders")
people = people.withColumn("at", start).withWatermark("at", "1 minute")
orders = orders.withColumn("seen", start).withWatermark("seen", "1 minute")
joined = people.join(orders, F.expr("id = person and seen >= at and seen <= at + interval 1 minute")).select(
    "name", "amount"
)
stream = joined.writeStream.option("checkpointLocation", f"{out}/check")
stream.trigger(availableNow=True).start(f"{out}/joined").awaitTermination()
