people = spark.table("people")
made = (
    people.withColumn("who", F.struct("name", F.col("city").alias("segment"), F.struct("age").alias("deep")))
    .withColumn("who", F.col("who").withField("old", F.col("age") > 35).dropFields("name"))
    .select("id", "who", F.array(F.struct(F.col("id").alias("i"), F.col("name").alias("n"))).alias("list"))
    .where("id > 0")
)
made.select(
    F.col("who.segment").alias("segment"),
    F.col("who.deep.age").alias("age"),
    F.col("who.old").alias("old"),
    F.col("list")[0]["n"].alias("first"),
    F.col("list.i").alias("ids"),
    F.transform("list", lambda x: F.named_struct(F.lit("m"), x["n"]))[0]["m"].alias("turned"),
    F.explode("list").alias("one"),
).select("*", F.col("one.i").alias("exploded")).write.parquet(f"{out}/out")
