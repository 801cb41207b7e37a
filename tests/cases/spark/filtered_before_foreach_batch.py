schema = "id int, name string, city string, age int"
stream = spark.readStream.schema(schema).parquet(f"{land}/people").where("age > 30").groupBy("city").count()
stream.writeStream.outputMode("complete").foreachBatch(
    lambda batch, number: batch.select("city", "count").write.mode("append").parquet(f"{out}/out")
).trigger(availableNow=True).start().awaitTermination()
