say = F.udf(lambda a, b: f"{a}{b}")
spark.table("people").select("id", say("name", "age").alias("said")).write.parquet(f"{out}/out")
