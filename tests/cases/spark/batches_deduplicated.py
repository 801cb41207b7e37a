def write(batch, number):
    oldest = batch.dropDuplicates(["city"]).groupBy("city").agg(F.max("age").alias("age"))
    oldest.write.mode("append").partitionBy("city").parquet(f"{out}/out")


schema = "id int, name string, city string, age int"
stream = spark.readStream.schema(schema).parquet(f"{land}/people").where("id > 0")
stream.writeStream.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
