def clean(frame, column):
    return frame.withColumn(column, F.trim(F.lower(column)))


def ranked(frame):
    return frame.withColumn("place", F.dense_rank().over(Window.partitionBy("city").orderBy(F.desc("age"))))


people = spark.table("people").transform(clean, "name").transform(ranked)
people.withColumnsRenamed({"place": "rank"}).drop("id").write.parquet(f"{out}/out")
