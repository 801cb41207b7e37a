from collections.abc import Iterator

import pandas as pd


@F.pandas_udf("double")
def mean(values: pd.Series) -> float:
    return float(values.mean())


@F.pandas_udf("long")
def plus(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for part in parts:
        yield part + 1


orders, people = spark.table("orders"), spark.table("people")
orders.groupBy("kind").agg(mean("amount").alias("m")).write.parquet(f"{out}/grouped")
orders.select("no", mean("amount").over(Window.partitionBy("person")).alias("m")).write.parquet(f"{out}/windowed")
people.select(plus("age").alias("next")).write.parquet(f"{out}/iterated")
orders.groupBy("person").cogroup(people.groupBy("id")).applyInPandas(
    lambda left, right: pd.DataFrame({"n": [len(left) + len(right)]}), "n long"
).write.parquet(f"{out}/together")
