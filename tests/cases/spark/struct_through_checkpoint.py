spark.sparkContext.setCheckpointDir(f"{out}/checkpoints")
cut = spark.table("people").select(F.struct("name", "city").alias("who")).checkpoint()
cut.select(F.col("who.name").alias("name"), F.col("who.city").alias("city")).write.parquet(f"{out}/out")
