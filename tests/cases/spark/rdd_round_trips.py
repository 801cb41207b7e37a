people, orders = spark.table("people").select("id", "name"), spark.table("orders").select("no", "kind")
both = people.rdd.union(orders.rdd).map(lambda row: (row[0], row[1]))
both.toDF("k int, v string").groupBy("v").count().write.parquet(f"{out}/both")
people.rdd.zipWithIndex().map(lambda pair: (pair[1], pair[0].name)).toDF("at long, name string").join(
    spark.table("people"), "name"
).select("at", "city").write.parquet(f"{out}/joined")
orders.rdd.map(lambda row: row.kind).distinct().saveAsTextFile(f"{out}/kinds")
