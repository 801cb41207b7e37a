spark.table("people").select("id").write.parquet(f"{out}/first")
for text in ("select raise_error('no') as x, amount from orders", "select nothing from orders"):
    try:
        spark.sql(text).write.parquet(f"{out}/second")
    except Exception:
        pass
try:
    spark.table("people").write.parquet(f"{out}/first")
except Exception:
    pass
try:
    spark.table("orders").select(F.expr("assert_true(amount > 100)")).collect()
except Exception:
    pass
spark.read.parquet(f"{out}/first").write.parquet(f"{out}/third")
