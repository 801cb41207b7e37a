spark.sql("""
  select id, array(named_struct('sku', name, 'maker', named_struct('name', city, 'codes', array(named_struct('c', age))))) as items
  from people
""").write.parquet(f"{out}/carts")
carts = spark.read.parquet(f"{out}/carts")
carts.select(
    F.col("items")[0]["sku"].alias("first"),
    F.element_at("items", -1)["maker"]["name"].alias("last"),
    F.slice("items", 1, 1)[0]["maker"]["codes"][0]["c"].alias("code"),
    F.get(F.filter("items", lambda one: one["sku"] > "a"), F.lit(0))["sku"].alias("chosen"),
    F.reverse(F.array_distinct("items"))[0]["maker"].alias("maker"),
    F.array_max("items")["sku"].alias("most"),
    F.col("items")["sku"].alias("all"),
    F.col("items")[F.col("id") - F.col("id")]["sku"].alias("at"),
).write.parquet(f"{out}/out")
