import pathlib

folder = pathlib.Path(out) / "in"
for day in (1, 2):
    (folder / f"day={day}").mkdir(parents=True)
    (folder / f"day={day}" / "a.json").write_text('{"id": 1, "who": {"name": "ann", "tags": ["x"]}}\n')
spark.sparkContext.setJobDescription("nightly load")
try:
    frame = spark.read.json(f"{folder}/day=*")
    frame.select("id", "who.name", F.explode("who.tags").alias("tag")).write.parquet(f"{out}/globbed")
    parts = spark.read.option("basePath", str(folder)).json([f"{folder}/day=1", f"{folder}/day=2/a.json"])
    parts.groupBy("day").agg(F.count("who").alias("n")).write.parquet(f"{out}/parts")
    spark.read.option("multiLine", True).json(str(folder)).select("day").distinct().write.csv(f"{out}/days")
finally:
    spark.sparkContext.setJobDescription(None)
