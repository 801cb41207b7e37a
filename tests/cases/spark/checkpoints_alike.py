for name in ("people", "orders"):
    frame = spark.table(name)
    kept = frame.select(frame.columns[0], frame.columns[1]).toDF("k", "v").where("k > 0").localCheckpoint()
    kept.select("k").write.mode("append").parquet(f"{out}/out")
