other = spark.newSession()
other.read.parquet(f"{land}/people").select("id").write.parquet(f"{out}/out")
