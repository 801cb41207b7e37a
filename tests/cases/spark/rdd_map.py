spark.table("people").rdd.map(lambda r: (r.id,)).toDF("id int").write.parquet(f"{out}/out")
