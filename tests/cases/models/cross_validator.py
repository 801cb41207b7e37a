from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

orders = spark.read.parquet(f"{land}/orders")
points = VectorAssembler(inputCols=["person"], outputCol="features").transform(orders.union(orders).union(orders))
line = LinearRegression(labelCol="amount", maxIter=2)
grid = ParamGridBuilder().addGrid(line.regParam, [0.0, 0.5]).build()
measure = RegressionEvaluator(labelCol="amount", metricName="mae")
model = CrossValidator(estimator=line, estimatorParamMaps=grid, evaluator=measure, numFolds=2, seed=3).fit(points)
measure.evaluate(model.transform(points))
model.write().overwrite().save(f"{out}/best")
CrossValidatorModel.read().load(f"{out}/best").transform(points).select("prediction").write.parquet(f"{out}/scored")
