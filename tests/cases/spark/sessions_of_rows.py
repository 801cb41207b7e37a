ordered = Window.partitionBy("person").orderBy("no")
gap = (F.col("no") - F.lag("no").over(ordered) > 1).cast("int")
marked = spark.table("orders").withColumn("starts", F.coalesce(gap, F.lit(0)))
marked.withColumn("part", F.sum("starts").over(ordered)).groupBy("person", "part").agg(
    F.count("*").alias("n"), F.sum("amount").alias("total")
).write.parquet(f"{out}/out")
