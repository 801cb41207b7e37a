"""A query log made up: N rows of S shapes in the common schema, written by Spark, the same ones each time.

    python benchmarks/cases/query_log/generate.py --rows 1000000 --shapes 20000 --to /tmp/log

One shape has `--skew` of the rows (a dashboard that refreshes), the others get fewer and fewer. Texts have about 500 bytes: queries with a BI tool's
comment, days and numbers, lists of any length; inserts, CTAS and merges of a pipeline; calls and copies, which no mask makes alike.
"""

import argparse
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.query_log.schema import LANDED_ROWS
from headwater.pipeline.session import session

DAYS = 30
DIALECTS = {"snowflake": "snowflake://org-acct", "bigquery": "bigquery", "postgres": "postgres://host:5432"}
# A quote in a string, by dialect.
QUOTED = {"snowflake": "it''s", "bigquery": "it\\'s", "postgres": "it''s"}

QUERY = """select c%d, date_trunc('month', t.created_at) as month,
       count(distinct t.user_id) as users, sum(t.amount_%d) as total
  from events_%d t
  left join dim_%d d on d.id = t.dim_id and d.kind = 'k%d'
"""
WHERE = """ where t.created_at >= '%s 00:00:00' and t.status <> '%s %d'
   and t.store_id in (%s)
   and t.amount > %d.%d and coalesce(t.region_%d, 'none') = 'r%d'
 group by 1, 2
 order by 3 desc limit %d"""
INSERT = """insert into mart.daily_%d (day, country, total)
select o.day, c.country, sum(o.amount * r.rate) as total
  from raw.orders_%d o join raw.customers c on c.id = o.customer_id
  join raw.rates_%d r on r.day = o.day where o.day = '%s' and o.batch = %d group by o.day, c.country"""
TABLE = """create or replace table stage.t_%d as
select a.id, a.name, b.value_%d as value, case when b.kind = 'x' then 1 else 0 end as flag
  from raw.a_%d a join raw.b_%d b on a.id = b.a_id where b.loaded_at > '%s'"""
MERGE = """merge into core.m_%d t using (select id, v_%d as v from raw.changes_%d where day = '%s') s on t.id = s.id
 when matched then update set v = s.v when not matched then insert (id, v) values (s.id, s.v)"""


def rows(spark: SparkSession, count: int, shapes: int, skew: float, source: str, parts: int) -> DataFrame:
    """`count` rows in LANDED_ROWS, `query_id` from q0 on."""
    chance = F.pmod(F.xxhash64("id"), F.lit(1_000_003)) / 1_000_003
    far = F.pmod(F.xxhash64("id", F.lit(1)), F.lit(1_000_003)) / 1_000_003
    shape = F.when(chance < skew, F.lit(0)).otherwise((far * far * far * shapes).cast("long"))
    made = spark.range(0, count, 1, parts).withColumn("shape", shape)
    made = made.withColumn(
        "started_at", F.timestamp_seconds(F.lit(1_772_323_200) + F.col("id") * DAYS * 86_400 / count)
    )
    given = {
        "source": F.lit(source),
        "namespace": F.lit(DIALECTS[source]),
        "query_id": F.concat(F.lit("q"), F.col("id")),
        "started_at": F.col("started_at"),
        "ended_at": F.col("started_at"),
        "statement": _text(source),
        "dialect": F.lit(source),
        "database": F.lit("dwh"),
        "schema": F.concat(F.lit("s"), F.col("shape") % 3),
        # At most three people run a shape.
        "user": F.concat(F.lit("user"), (F.col("shape") * 7 + F.col("id") % 3) % 200, F.lit("@example.com")),
        "state": F.lit("succeeded"),
        "duration_ms": F.col("id") % 9000,
        "bytes_billed": F.col("id") % 1_000_000,
        "slot_ms": F.col("id") % 100_000,
        "file": F.lit("made"),
    }
    return made.select(
        *(given.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in LANDED_ROWS.fields)
    )


def _text(source: str) -> Column:
    number, shape = F.col("id"), F.col("shape")
    day = F.date_format("started_at", "yyyy-MM-dd")
    comment = F.concat(
        F.lit('/* {"app": "bi", "user": '),
        number % 997,
        F.lit(', "run": "'),
        F.md5(number.cast("string")),
        F.lit('"} */\n'),
    )
    listed = F.array_join(
        F.transform(F.sequence(F.lit(1), 1 + number % 12), lambda one: (one * number % 100_000).cast("string")), ", "
    )
    query = F.concat(
        comment,
        F.format_string(QUERY, shape % 40, shape % 7, shape, shape % 100, number % 50),
        F.format_string(
            WHERE,
            day,
            F.lit(QUOTED[source]),
            number,
            listed,
            number % 900,
            number % 10,
            shape % 30,
            number % 20,
            10 + number % 5,
        ),
    )
    insert = F.format_string(INSERT, shape, shape % 500, shape, day, number)
    table = F.format_string(TABLE, shape, shape % 9, shape, shape % 70, day)
    merge = F.format_string(MERGE, shape, shape % 5, shape, day)
    call = F.format_string("call admin.refresh_%d('%s', %d)", shape % 20, day, number % 40)
    kind = shape % 100
    return (
        F.when(kind < 80, query).when(kind < 90, insert).when(kind < 95, table).when(kind < 99, merge).otherwise(call)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--shapes", type=int, default=2_000)
    parser.add_argument("--skew", type=float, default=0.3)
    parser.add_argument("--source", choices=sorted(DIALECTS), default="snowflake")
    parser.add_argument("--to", type=Path, required=True)
    asked = parser.parse_args()
    spark = session("local[*]", name="query log, made up")
    rows(spark, asked.rows, asked.shapes, asked.skew, asked.source, max(2, asked.rows // 500_000)).write.mode(
        "overwrite"
    ).parquet(str(asked.to))
    spark.stop()


if __name__ == "__main__":
    main()
