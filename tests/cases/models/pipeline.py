from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.regression import LinearRegression

orders, people = spark.read.parquet(f"{land}/orders"), spark.read.parquet(f"{land}/people")
bought = orders.join(people, orders.person == people.id)
stages = [
    StringIndexer(inputCol="kind", outputCol="kindIndex"),
    VectorAssembler(inputCols=["kindIndex", "age"], outputCol="features"),
    LinearRegression(labelCol="amount", regParam=0.1),
]
Pipeline(stages=stages).fit(bought).write().overwrite().save(f"{out}/model")
model = PipelineModel.load(f"{out}/model")
model.transform(bought).select("no", "prediction").write.parquet(f"{out}/predictions")
