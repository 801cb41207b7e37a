people = spark.table("people")
made = people.groupBy("city").agg(
    F.max(F.struct("age", F.col("name").alias("who"))).alias("eldest"),
    F.first(F.struct("name", F.col("age").alias("old"))).alias("one"),
    F.collect_list(F.struct(F.col("id").alias("i"), F.col("name").alias("n"))).alias("list"),
    F.max_by(F.struct(F.col("name").alias("n")), "age").alias("by_age"),
)
made.select(
    F.col("eldest.who").alias("eldest"),
    F.col("one.old").alias("old"),
    F.col("list.n").alias("names"),
    F.col("list")[0]["i"].alias("first_id"),
    F.col("by_age.n").alias("oldest"),
).write.parquet(f"{out}/out")
