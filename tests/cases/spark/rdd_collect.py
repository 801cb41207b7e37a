from pathlib import Path

sc = spark.sparkContext
place = Path(out) / "words.txt"
place.write_text("to be\nor not\n")
lines = sc.textFile(str(place))
lines.map(len).filter(lambda n: n > 2).reduce(lambda a, b: a + b)
lines.count()  # the same file: it is said once
sc.parallelize([1, 2]).collect()
spark.read.parquet(f"{land}/people").rdd.map(lambda row: row.id).take(1)
