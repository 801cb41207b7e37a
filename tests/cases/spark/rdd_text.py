from pathlib import Path

sc = spark.sparkContext
for day in ("a", "b"):
    folder = Path(out) / "logs" / day
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text("to be or not to be\n")
lines = sc.textFile(f"{out}/logs/a/words.txt").union(sc.textFile(f"{out}/logs/*/words.txt"))
counts = lines.flatMap(lambda line: line.split()).map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b)
counts.map(lambda pair: f"{pair[0]} {pair[1]}").saveAsTextFile(f"{out}/counts")
spark.read.parquet(f"{land}/people").repartition(2, "city").rdd.map(lambda row: row.name).saveAsPickleFile(
    f"{out}/names"
)
sc.parallelize([1, 2]).saveAsTextFile(path=f"{out}/numbers")
try:
    counts.saveAsTextFile(f"{out}/counts")
except Exception:
    pass
counts.toDF("word string, n int").write.parquet(f"{out}/out")
