spark.read.parquet(f"{land}/people").createOrReplaceTempView("tv")
spark.sql("select id, name from tv").write.parquet(f"{out}/out")
