spark.table("people").select("id", "name").mapInPandas(lambda parts: parts, "id int, name string").write.parquet(
    f"{out}/out"
)
