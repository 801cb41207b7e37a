p = spark.table("people")
a, b, c = p.alias("a"), p.withColumn("age", F.col("age") * 2).alias("b"), p.alias("c")
joined = a.join(b, F.col("a.id") == F.col("b.id")).join(c, F.col("c.name") == F.col("a.name"), "left")
joined.select(F.col("a.age").alias("x"), F.col("b.age").alias("y"), F.col("c.city").alias("z")).write.parquet(
    f"{out}/out"
)
older = p.select("id", F.col("age").alias("older"))
older.join(older.groupBy("id").agg(F.max("older").alias("most")), "id").join(p, ["id"]).select(
    "older", "most", "city"
).write.parquet(f"{out}/grouped")
