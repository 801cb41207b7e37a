people = spark.table("people")
written = people.select(
    "id", F.to_json(F.struct("name", F.col("city").alias("segment"), F.struct("age").alias("deep"))).alias("body")
)
read = written.where("id > 0").withColumn(
    "who", F.from_json("body", "name string, segment string, deep struct<age: int>")
)
read.select(
    F.col("who.segment").alias("segment"),
    F.col("who.deep.age").alias("age"),
    F.get_json_object("body", "$.name").alias("name"),
    F.from_json(F.col("body"), "segment string")["segment"].alias("nested"),
    F.get_json_object("body", "$.*").alias("any"),
    "body",
).write.parquet(f"{out}/out")
