nested = spark.read.parquet(f"{land}/nested")
nested.select(
    "id",
    F.filter("words", lambda w: w > F.col("info.deep.y")).alias("by_other"),
    F.filter("pairs", lambda p: p["p"] > 1).alias("by_field"),
    F.get(F.filter("pairs", lambda p: p["p"].between(1, F.col("info.x"))), F.lit(0))["q"].alias("field"),
    F.filter("words", lambda w, i: i > F.col("id")).alias("by_place"),
    F.map_filter(F.map_from_arrays("words", F.array("id", "info.x")), lambda k, v: v > 1).alias("by_value"),
    F.size(F.filter(F.transform("pairs", lambda p: p["p"]), lambda n: n > F.col("id"))).alias("counted"),
    F.exists("pairs", lambda p: p["q"] == F.col("info.deep.y")).alias("has"),
    F.forall("pairs", lambda p: p["p"] > 0).alias("has_all"),
    F.zip_with("pairs", "words", lambda p, w: F.concat(p["q"], w)).alias("zipped"),
    F.transform("pairs", lambda p: p["q"]).alias("parts"),
).write.parquet(f"{out}/out")
