people = spark.read.parquet(f"{land}/people")
people.groupBy("city").agg(
    F.map_from_entries(F.collect_list(F.struct("name", F.struct("age", "id").alias("facts")))).alias("m")
).write.parquet(f"{out}/maps")
stored = spark.read.parquet(f"{out}/maps")
stored.select(
    F.map_keys("m").alias("ks"),
    F.map_values("m").alias("vs"),
    stored.m["ann"].age.alias("age"),
    F.map_entries("m")[0].key.alias("entry"),
    F.transform_values("m", lambda k, v: v.id).alias("ids"),
).write.parquet(f"{out}/taken")
stored.select("city", F.explode("m").alias("name", "facts")).select("name", "facts.id").write.parquet(f"{out}/rows")
