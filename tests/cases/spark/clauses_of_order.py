people = spark.table("people").hint("broadcast")
orders = spark.table("orders").repartitionByRange(2, "amount").sortWithinPartitions("kind")
joined = orders.join(people, orders.person == people.id).orderBy("amount", F.desc("name")).offset(1).limit(2)
joined.coalesce(1).select("no", "city").write.parquet(f"{out}/frames")
spark.sql(
    "select no, v.word from orders tablesample (100 percent) join (values (1, 'one'), (2, 'two')) v(n, word) on n = no distribute by no sort by word"
).write.parquet(f"{out}/clauses")
