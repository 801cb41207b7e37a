schema = "id int, name string, city string, age int"
stream = (
    spark.readStream.schema(schema)
    .parquet(f"{land}/people")
    .select("name")
    .writeStream.option("checkpointLocation", f"{out}/check")
)
stream.trigger(availableNow=True).start(f"{out}/streamed").awaitTermination()
