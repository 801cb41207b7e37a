orders = spark.table("orders")
wide = orders.groupBy("person").pivot("kind", ["a", "b"]).agg(F.sum("amount").alias("s"), F.max("no").alias("m"))
wide.write.parquet(f"{out}/wide")
wide.unpivot(["person"], ["a_s", "b_s"], "what", "value").write.parquet(f"{out}/long")
spark.sql("select no, stack(2, 'p', person, 'n', no) as (what, value) from orders").write.parquet(f"{out}/stacked")
spark.sql(
    "select no, pos, col.q from (select id as no, pairs from parquet.`"
    + land
    + "/nested`) lateral view posexplode(pairs) as pos, col"
).write.parquet(f"{out}/placed")
