spark.table("people").write.bucketBy(2, "id").sortBy("name").saveAsTable("made_buckets")
spark.table("orders").write.bucketBy(2, "person").partitionBy("kind").saveAsTable("made_buckets2")
spark.table("made_buckets").join(spark.table("made_buckets2"), F.col("id") == F.col("person")).select(
    "name", "amount"
).write.parquet(f"{out}/out")
spark.sql("drop table made_buckets")
spark.sql("drop table made_buckets2")
