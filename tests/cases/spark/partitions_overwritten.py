spark.sql(
    "create table made_parts (id int, name string, day string, city string) using parquet partitioned by (day, city)"
)
spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
try:
    spark.sql("insert overwrite made_parts partition (day = '1', city) select id, upper(name), city from people")
    spark.table("people").selectExpr("age", "name", "'2' as day", "city").write.mode("overwrite").insertInto(
        "made_parts"
    )
finally:
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
spark.sql("insert into made_parts partition (city = 'x', day = '3') select no, kind from orders")
spark.sql(
    "insert overwrite directory '" + out + "/exported' using json select name, day from made_parts where city = 'north'"
)
spark.sql("drop table made_parts")
