def write(batch, number):
    batch.select((F.col("id") + 1).alias("next")).write.mode("append").parquet(f"{out}/out")


schema = "id int, name string, city string, age int"
query = (
    spark.readStream.schema(schema)
    .parquet(f"{land}/people")
    .writeStream.foreachBatch(write)
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
