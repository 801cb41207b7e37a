people, orders = spark.table("people"), spark.table("orders")
joined = people._joinAsOf(orders, people.age, orders.amount, on=people.id == orders.person, how="left")
joined.select(people.name, orders.kind).write.parquet(f"{out}/out")
