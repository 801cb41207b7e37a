people = spark.read.parquet(f"{land}/people")
people.select(
    "id",
    F.input_file_name().alias("file"),
    F.col("_metadata.file_size").alias("size"),
    F.monotonically_increasing_id().alias("at"),
    F.rand().alias("r"),
).write.parquet(f"{out}/out")
