people = spark.table("people").withColumn("at", F.timestamp_seconds("age"))
people.groupBy(F.window("at", "10 seconds"), "city").agg(F.max("name").alias("top")).select(
    F.col("window.start").alias("begin"), "city", "top"
).write.parquet(f"{out}/tumbling")
people.groupBy(F.session_window("at", "5 seconds")).count().select(
    F.col("session_window.end").alias("until"), "count"
).write.parquet(f"{out}/sessions")
