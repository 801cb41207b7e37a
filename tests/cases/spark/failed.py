try:
    spark.sql("select raise_error(name) as x, id from people").write.parquet(f"{out}/out")
except Exception:
    pass
