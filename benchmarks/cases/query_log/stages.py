"""From a log's texts to statements, stage by stage: rows and texts a second, on as many cores as asked.

    python benchmarks/cases/query_log/stages.py --rows 200000 --shapes 2000 --cores 1 [--json FILE]

`read` is Spark reading the same rows and doing nothing, `bytes` a sum over their text: what the machine could do at most.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from generate import DIALECTS, rows
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.query_log import shapes, statements, texts
from headwater.pipeline.query_log.schema import SHAPES, STATEMENTS, TEXTS
from headwater.pipeline.query_log.text_key import with_key
from headwater.pipeline.session import session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shapes", type=int, default=2_000)
    parser.add_argument("--skew", type=float, default=0.3)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--source", choices=sorted(DIALECTS), default="snowflake")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    spark = session(f"local[{asked.cores}]", name="query log, stages", settings={"spark.sql.shuffle.partitions": "4"})
    spark.sparkContext.setLogLevel("ERROR")
    found: dict[str, dict[str, float]] = {}

    def timed(name: str, what: DataFrame, count: int) -> None:
        began = time.monotonic()
        what.write.format("noop").mode("overwrite").save()
        seconds = time.monotonic() - began
        found[name] = {"seconds": round(seconds, 2), "a second": round(count / seconds)}
        print(f"{name:12} {count:>10,} {seconds:8.2f} s {count / seconds:>12,.0f} /s", flush=True)

    with tempfile.TemporaryDirectory() as home:
        log, landed = f"{home}/log", f"{home}/landed"
        rows(spark, asked.rows, asked.shapes, asked.skew, asked.source, 2 * asked.cores).write.parquet(log)
        given = spark.read.parquet(log)
        texts_of = given.select("statement", "dialect")
        with_key(texts_of.limit(1000)).count()  # the JVM and its code are warm
        timed("read", texts_of, asked.rows)
        timed("bytes", texts_of.agg(F.sum(F.length("statement"))), asked.rows)
        timed("key", with_key(texts_of), asked.rows)
        with_key(given.withColumn("day", F.to_date("started_at"))).write.parquet(landed)
        kept = spark.read.parquet(landed)
        nothing = spark.createDataFrame([], TEXTS.schema)
        unmet = texts.unmet(kept, nothing)
        timed("unmet", unmet, asked.rows)
        unmet = unmet.persist()
        identified = texts.identified(unmet, slices=4 * asked.cores).persist()
        timed("identified", identified, unmet.count())
        made = shapes.shapes(spark.createDataFrame([], SHAPES.schema), identified).persist()
        seen = statements.seen(kept, identified.select(*TEXTS.columns()))
        timed("seen", seen, asked.rows)
        known = spark.createDataFrame([], STATEMENTS.schema)
        wanted = statements.statements_to_parse(seen, known, made.select("shape_id").limit(0)).persist()
        parsed = statements.parsed(wanted, made, slices=4 * asked.cores).persist()
        timed("parsed", parsed, wanted.count())
        levels = {row["level"]: row["count"] for row in parsed.groupBy("level").count().collect()}
        print(f"{identified.count():,} keys, {made.count():,} shapes, {parsed.count():,} statements, {levels}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
