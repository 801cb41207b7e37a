people, orders = spark.table("people").alias("p"), spark.table("orders").alias("o")
# A session with a JVM reads a text at once, when nothing is around it yet.
is_remote = "connect" in type(spark).__module__
of_person = orders.where("o.person = p.id" if is_remote else F.col("o.person") == F.col("p.id").outer())
people.where(of_person.exists()).select("name").write.parquet(f"{out}/texts")
people.lateralJoin(of_person.select(F.sum("amount").alias("spent")), F.col("spent") > F.col("age"), "left").select(
    "city", "spent", F.expr("age + spent").alias("both")
).write.parquet(f"{out}/joined")
