static = spark.table("orders")


def write(batch, number):
    batch.persist()
    batch.createOrReplaceTempView("made_batch")
    kept = batch.sparkSession.sql("select name, upper(city) as city from made_batch where age > 0")
    kept.write.mode("append").json(f"{out}/kept")
    batch.join(static, batch.id == static.person).select("name", "amount").write.mode("append").parquet(f"{out}/joined")
    batch.unpersist()


schema = "id int, name string, city string, age int"
stream = spark.readStream.schema(schema).parquet(f"{land}/people").withColumn("age", F.col("age") + 1)
stream.writeStream.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
