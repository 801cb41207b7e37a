spark.sql("create table made_same using parquet as select id, name from people")
spark.sql("insert into made_same select id + 10, upper(name) from made_same where id > 1")
frame = spark.table("made_same").localCheckpoint()
frame.select(F.col("id").alias("name"), F.col("name").alias("id")).selectExpr(
    "cast(id as string) id", "name"
).write.mode("overwrite").saveAsTable("made_same")
spark.sql("drop table made_same")
spark.table("people").select("id").write.parquet(f"{out}/out")
spark.read.parquet(f"{out}/out").selectExpr("id + 1 as id").write.mode("append").parquet(f"{out}/out")
try:
    spark.read.parquet(f"{out}/out").write.mode("overwrite").parquet(f"{out}/out")
except Exception:
    pass
