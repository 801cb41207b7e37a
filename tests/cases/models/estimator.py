from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler

people = spark.read.parquet(f"{land}/people")
points = VectorAssembler(inputCols=["age", "id"], outputCol="features").transform(people)
model = KMeans(k=2, seed=1).fit(points)
model.save(f"{out}/clusters")
model.transform(points).groupBy("prediction").count().write.parquet(f"{out}/sizes")
