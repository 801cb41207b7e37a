spark.table("people").select("id", F.upper("name").alias("n")).localCheckpoint().select("n").write.parquet(f"{out}/out")
