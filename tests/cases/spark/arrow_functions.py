import pyarrow as pa

people = spark.table("people")


def doubled(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"n": [2 * one for one in batch.column("age").to_pylist()]})


people.select("age", "city").mapInArrow(doubled, "n long").write.parquet(f"{out}/mapped")
people.groupBy("city").applyInArrow(lambda table: table.select(["name"]), "name string").write.parquet(f"{out}/grouped")
