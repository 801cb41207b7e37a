spark.table("people").select("id").write.parquet(f"{out}/out")
spark.read.parquet(f"{out}/out").count()
