kept = spark.table("people").select("id", (F.col("age") * 2).alias("w")).cache()
kept.count()
kept.write.parquet(f"{out}/out")
kept.unpersist()
