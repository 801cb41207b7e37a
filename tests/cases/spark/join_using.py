left = spark.table("people")
right = spark.table("orders").withColumnRenamed("person", "id")
left.join(right, "id", "full").select("id", "amount").write.parquet(f"{out}/out")
