from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression

orders, people = spark.read.parquet(f"{land}/orders"), spark.read.parquet(f"{land}/people")
seen = VectorAssembler(inputCols=["person"], outputCol="features").transform(orders)
asked = VectorAssembler(inputCols=["id"], outputCol="features").transform(people)
model = LinearRegression(labelCol="amount").fit(seen)
model.transform(asked).select("name", "prediction").write.parquet(f"{out}/guessed")
