import pandas as pd
from pyspark.sql.streaming.state import GroupStateTimeout


def count(key, parts, state):
    total = (state.get[0] if state.exists else 0) + sum(len(part) for part in parts)
    state.update((total,))
    yield pd.DataFrame({"city": [key[0]], "n": [total]})


stream = spark.readStream.schema("id int, name string, city string, age int").parquet(f"{land}/people")
counted = stream.groupBy("city").applyInPandasWithState(
    count, "city string, n long", "n long", "update", GroupStateTimeout.NoTimeout
)
counted.writeStream.outputMode("update").foreachBatch(
    lambda batch, number: batch.write.mode("append").parquet(f"{out}/out")
).trigger(availableNow=True).start().awaitTermination()
