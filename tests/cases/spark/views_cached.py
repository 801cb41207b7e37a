spark.sql("cache table made_cached as select id, upper(name) as n from people where age > 0")
spark.sql("select n from made_cached").write.parquet(f"{out}/out")
spark.sql("uncache table made_cached")
spark.catalog.dropTempView("made_cached")
