url = "jdbc:derby:memory:cases;create=true"
spark.table("people").select("id", "name").write.jdbc(url, "APP.PEOPLE")
spark.read.jdbc(url, "APP.PEOPLE").select("NAME").write.parquet(f"{out}/out")
