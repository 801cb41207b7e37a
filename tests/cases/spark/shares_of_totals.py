orders = spark.table("orders")
totals = orders.groupBy("person").agg(F.sum("amount").alias("total"), F.collect_set("kind").alias("kinds"))
shares = orders.join(F.broadcast(totals), "person").withColumn("share", F.round(F.col("amount") / F.col("total"), 2))
shares.sort(F.desc("share")).limit(2).select("person", "share", F.size("kinds").alias("kinds")).write.parquet(
    f"{out}/out"
)
