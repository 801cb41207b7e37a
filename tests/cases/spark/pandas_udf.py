@F.pandas_udf("long")
def double(column):
    return column * 2


spark.table("people").select(double("age").alias("twice")).write.parquet(f"{out}/out")
