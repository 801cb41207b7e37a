people, orders = spark.table("people"), spark.table("orders")
keys = people.select("id").intersectAll(orders.select("person"))
keys.union(people.select("age")).exceptAll(orders.select("no")).subtract(
    orders.selectExpr("person + 100")
).write.parquet(f"{out}/out")
