nested = spark.read.parquet(f"{land}/nested")
changed = nested.withColumn("info", F.col("info").withField("z", F.col("id")))
changed.select("info.x", "info.z", F.col("info.deep.y").alias("y")).write.parquet(f"{out}/out")
