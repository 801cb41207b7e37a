from pyspark.sql import Observation

seen = Observation("made_seen")
people = spark.table("people").observe(seen, F.count(F.lit(1)).alias("rows"), F.max("age").alias("oldest"))
people.where("age > 30").select("name").write.parquet(f"{out}/out")
