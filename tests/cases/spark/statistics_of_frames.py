people = spark.table("people")
people.describe("age").write.parquet(f"{out}/described")
people.na.fill({"name": "none"}).na.replace("ann", "eve", "city").dropna(subset=["age"]).sample(1.0).limit(
    5
).write.parquet(f"{out}/cleaned")
first, second = people.randomSplit([0.5, 0.5], 1)
first.union(second).dropDuplicates(["name"]).select("city").write.parquet(f"{out}/split")
