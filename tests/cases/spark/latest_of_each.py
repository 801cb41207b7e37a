newest = Window.partitionBy("person").orderBy(F.desc("amount"))
spark.table("orders").withColumn("n", F.row_number().over(newest)).where("n = 1").drop("n").write.parquet(f"{out}/out")
