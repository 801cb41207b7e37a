spark.table("people").dropDuplicates(["city"]).select("name").limit(5).write.parquet(f"{out}/out")
