people = spark.table("people").where("age > 30")
spark.sql("select id, {col} as c from {p} where id < {most}", p=people, col=F.col("name"), most=9).write.parquet(
    f"{out}/out"
)
spark.sql("select person, :more + amount as m from identifier(:t)", args={"t": "orders", "more": 1}).write.parquet(
    f"{out}/named"
)
