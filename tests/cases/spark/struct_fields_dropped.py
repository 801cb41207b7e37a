nested = spark.read.parquet(f"{land}/nested")
inside = F.struct("id", F.col("info.x").alias("x"))
made = nested.select(F.struct(inside.alias("l"), F.col("words")[0].alias("w")).alias("s"))
changed = made.withColumn("s", F.col("s").withField("l.z", F.col("s.w")).dropFields("l.id"))
changed.select(
    "s.l.x", F.to_json("s.l").alias("text"), F.to_json(F.col("s").dropFields("l.z", "w")).alias("less")
).write.parquet(f"{out}/out")
