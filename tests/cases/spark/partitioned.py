spark.table("people").write.partitionBy("city").parquet(f"{out}/parts")
spark.read.parquet(f"{out}/parts").where('city = "north"').select("name").write.parquet(f"{out}/out")
spark.read.parquet(f"{out}/parts/city=north").select("name").write.mode("append").parquet(f"{out}/out")
