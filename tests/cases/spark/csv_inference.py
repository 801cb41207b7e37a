import pathlib

folder = pathlib.Path(out) / "in"
(folder / "day=1").mkdir(parents=True)
(folder / "day=1" / "a.csv").write_text("id,name\n1,ann\n2,bob\n")
spark.sparkContext.setJobDescription("nightly load")
try:
    spark.read.csv(str(folder))
    spark.read.option("comment", "#").format("csv").load(str(folder / "day=1" / "a.csv"))
    spark.read.option("header", True).option("multiLine", True).csv(str(folder))
    spark.read.option("header", True).csv(spark.sparkContext.parallelize(["id,name", "1,ann"]))
    spark.read.option("header", True).option("inferSchema", True).csv(str(folder)).write.parquet(f"{out}/out")
finally:
    spark.sparkContext.setJobDescription(None)
