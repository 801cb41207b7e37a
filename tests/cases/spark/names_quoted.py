spark.table("people").select(
    F.col("id").alias("a.b"),
    F.col("name").alias("naïve naam"),
    F.col("city").alias("ti`ck"),
    F.col("age").alias("年齢"),
).write.parquet(f"{out}/odd")
odd = spark.read.parquet(f"{out}/odd")
odd.select(
    F.col("`a.b`").alias("x"), F.col("NAÏVE NAAM").alias("y"), F.col("`ti``ck`").alias("`z`"), F.col("年齢") + 1
).write.parquet(f"{out}/out")
odd.select(F.struct(F.col("`a.b`").alias("in.ner"), F.col("年齢").alias("n")).alias("who")).select(
    F.col("who.`in.ner`").alias("deep")
).write.json(f"{out}/deep")
