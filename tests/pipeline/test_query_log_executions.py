"""Executions are a function of the set of rows that came in: order, batches and duplicates do not matter."""

import datetime as dt
import random

import pytest
from pyspark.sql import functions as F
from tests.fixtures.pipeline import DAY_ONE, content, query, rows_of
from tests.scale import full

from headwater.pipeline.query_log import executions as work
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.daily import daily, source_tables
from headwater.pipeline.query_log.executions import folded, incoming, merged

pytestmark = pytest.mark.spark

WHO = {"actor": "ada@example.com", "actor_kind": "person"}


def landed(spark, rows):
    """Rows as land and who leave them: with `day`, `text_key` and the who columns."""
    from pyspark.sql.types import StructType

    schema = StructType([*S.LANDED.schema.fields, *S.WHO_COLUMNS.fields])
    made = [
        {**WHO, "day": row["started_at"].date(), "text_key": row["statement"] and f"t:{row['statement']}", **row}
        for row in rows
    ]
    return rows_of(spark, made, schema)


def texts(spark, rows):
    keys = {row["statement"] for row in rows if row["statement"]}
    return rows_of(
        spark,
        [{"text_key": f"t:{key}", "dialect": "bigquery", "shape_id": f"s:{key[:8]}"} for key in sorted(keys)],
        S.TEXTS.schema,
    )


def made_of(spark, batches):
    """Return the executions that batches end as, merged one after another."""
    known = texts(spark, [row for batch in batches for row in batch])
    kept = rows_of(spark, [], S.EXECUTIONS.schema)
    for batch in batches:
        rows = landed(spark, batch)
        kept = merged(kept, incoming(rows, known), rows, {}).localCheckpoint()
    return kept


def told_log(seed, queries=120):
    """A log as logs are: duplicates, rows that know a part, states that change, late rows."""
    chance = random.Random(seed)
    rows = []
    for number in range(queries):
        started = DAY_ONE + dt.timedelta(minutes=chance.randrange(4 * 24 * 60))
        first = query(
            number,
            chance.choice(["select a from t", "insert into u select b from t", None]),
            started_at=started,
            credits=chance.random(),
            schema=chance.choice(["x", "y", None]),
            search_path=chance.choice([["x", "public"], None]),
            actor_kind=chance.choice(["person", "unknown", "pipeline"]),
            job_name=chance.choice(["dag.task", None]),
            told_reads=chance.choice([["p.d.t"], ["p.d.t", "p.d.u"], None]),
        )
        rows.append(first)
        for _ in range(chance.randrange(3)):
            rows.append(
                {
                    **first,
                    "statement": chance.choice([first["statement"], None, "select c from v"]),
                    "ended_at": chance.choice([None, first["ended_at"], started + dt.timedelta(seconds=9)]),
                    "state": chance.choice(["succeeded", "failed", "cancelled"]),
                    "error": chance.choice([None, "boom"]),
                    "duration_ms": chance.choice([None, 1, 9000]),
                    "job_name": chance.choice([None, "dag.other"]),
                    "file": chance.choice(["log.json", "again.json"]),
                }
            )
        rows += [first] * chance.randrange(2)
    chance.shuffle(rows)
    return rows


def cut(rows, pieces, seed):
    chance = random.Random(seed)
    again = rows + chance.sample(rows, len(rows) // 4)
    chance.shuffle(again)
    edges = sorted(chance.sample(range(1, len(again)), pieces - 1))
    return [again[a:b] for a, b in zip([0, *edges], [*edges, len(again)], strict=True)]


@pytest.mark.parametrize("seed", range(1, full(3, 2)))
def test_one_batch_and_many_shuffled_ones_with_duplicates_end_equal(spark, seed):
    rows = told_log(seed)
    once = made_of(spark, [rows])
    many = made_of(spark, cut(rows, full(5, 3), seed))
    assert content(once) == content(many)
    assert once.count() == len({(row["query_id"], row["started_at"].date()) for row in rows})
    assert content(daily(once)) == content(daily(many.repartition(3, "query_id")))
    assert content(source_tables(once)) == content(source_tables(many))


def test_a_row_that_knows_less_takes_nothing_away(spark):
    history = query(1, "select a from t", state="failed", error="boom", bytes_read=None, schema="x")
    access = query(
        1,
        None,
        schema=None,
        user=None,
        duration_ms=None,
        told_reads=["p.d.t"],
        bytes_read=7,
        state="succeeded",
        ended_at=None,
    )
    for batches in ([[history, access]], [[access], [history]], [[history], [access], [history]])[: full(3, 2)]:
        (row,) = made_of(spark, batches).collect()
        assert (row.text_key, row.shape_id, row.schema) == ("t:select a from t", "s:select a", "x")
        assert (row.state, row.error, row.user, row.duration_ms) == ("failed", "boom", "ada@example.com", 2000)
        assert (row.told_reads, row.bytes_read) == (["p.d.t"], 7)


def test_what_belongs_together_comes_from_one_row(spark):
    plain = query(1, "select a from t", schema="zz", actor="zoe", actor_kind="person")
    dbt = query(1, "select b from t", schema="aa", actor="dbt", actor_kind="pipeline", job_name="model.x", tool="dbt")
    (row,) = made_of(spark, [[plain, dbt]]).collect()
    assert (row.text_key, row.schema, row.place) == ("t:select b from t", "aa", '{"schema":"aa"}')
    assert (row.actor, row.actor_kind, row.job_name) == ("dbt", "pipeline", "model.x")


def test_how_they_are_folded_does_not_change_what_they_are(spark, monkeypatch):
    rows = told_log(3)
    known, told = texts(spark, rows), landed(spark, rows)
    arrived = incoming(told, known)
    nothing = rows_of(spark, [], S.EXECUTIONS.schema)
    plain = content(folded(arrived, {DAY_ONE.date(): 1}))
    assert content(folded(arrived, {DAY_ONE.date(): 3_200_000})) == plain
    assert content(merged(nothing, arrived, told, {})) == plain
    assert content(merged(nothing, arrived, told, None)) == plain
    monkeypatch.setattr(work, "FILES_A_DAY", 0)
    assert content(merged(nothing, arrived, told, {DAY_ONE.date(): 3_200_000})) == plain
    monkeypatch.setattr(work, "REPEATED_AT_MOST", 1)
    assert content(merged(nothing, arrived, told, {})) == plain


def test_two_queries_of_one_hash_stay_two(spark, monkeypatch):
    monkeypatch.setattr(work, "_hash", lambda: F.lit(7).cast("long"))
    assert made_of(spark, [[query(1), query(2)], [query(3), query(1)]]).count() == 3


def test_a_row_without_text_has_no_shape_and_stays(spark):
    (row,) = made_of(spark, [[query(1, None)]]).collect()
    assert (row.text_key, row.shape_id, row.place) == (None, None, "{}")


def test_daily_sums_know_nothing_from_zero_and_do_not_depend_on_order(spark):
    rows = [query(n, credits=n / 10, cpu_ms=None, state="failed" if n == 3 else "succeeded") for n in range(8)]
    rows.append(query(20, "select 2", user="bo", credits=None))
    rows[7]["query_id"] = "q9"
    made = made_of(spark, [rows])
    one, other = sorted(daily(made).collect(), key=lambda row: -row.executions)
    assert (one.executions, one.failures, one.duration_ms, one.cpu_ms) == (8, 1, 16_000, None)
    assert one.credits == 2.8
    assert one.last_query_id == "q9"
    assert (one.last_at - one.first_at) == dt.timedelta(hours=7)
    assert (other.executions, other.credits) == (1, None)


def test_a_sum_that_fits_nowhere_is_not_known_and_fails_nothing(spark):
    rows = [query(n, bytes_billed=2**63 - 1, credits=1e300) for n in range(2)]
    (row,) = daily(made_of(spark, [rows])).collect()
    assert (row.bytes_billed, row.credits, row.executions) == (None, None, 2)
