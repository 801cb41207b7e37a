people = spark.table("people")


def older(frame):
    return frame.withColumns({"age": F.col("age") + 1, "was": F.col("age")})


changed = people.selectExpr("*", "name as label", "id as key").withColumnsRenamed({"id": "name2", "name": "id2"})
changed = changed.transform(older).drop("key").toDF("a", "b", "c", "d", "e", "f")
changed.select("*", F.expr("a + d as sum")).write.parquet(f"{out}/out")
people.selectExpr("* except (city)", "city as name3").write.parquet(f"{out}/except")
people.withColumn("name", F.col("city")).withColumn("city", F.col("name")).select("name", "city").write.parquet(
    f"{out}/swapped"
)
