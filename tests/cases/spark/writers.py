people = spark.table("people")
people.select("id", "name").writeTo("made_writers").using("parquet").create()
people.selectExpr("age as x", "city as y").write.insertInto("made_writers")
people.select("name", "id").write.mode("append").saveAsTable("made_writers")
people.selectExpr("id + 1 as x", "city as y").write.insertInto("made_writers", overwrite=True)
people.selectExpr("id", "upper(name) as name").write.mode("overwrite").option("path", f"{out}/elsewhere").saveAsTable(
    "made_writers"
)
people.select("id", "city").write.partitionBy("city").mode("overwrite").saveAsTable("made_writers")
people.select("id").write.mode("ignore").saveAsTable("made_writers2")
spark.sql("drop table made_writers")
spark.sql("drop table made_writers2")
