spark.table("PEOPLE").selectExpr("ID", "Name as NAME", "aGe").withColumnRenamed("id", "key").join(
    spark.table("Orders").withColumnRenamed("PERSON", "Key"), "KEY"
).groupBy("NaMe").agg(F.sum("AMOUNT").alias("Total"), F.max("AGE").alias("oldest")).where("total > 0").write.parquet(
    f"{out}/out"
)
