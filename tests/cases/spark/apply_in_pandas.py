spark.table("orders").groupBy("kind").applyInPandas(
    lambda part: part[["no", "amount"]], "no int, amount double"
).write.parquet(f"{out}/out")
