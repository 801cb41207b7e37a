"""Usage, cost, quality and pruning of logs small enough to be worked out by hand; and the same of the same rows cut in any way."""

import datetime as dt
import json

import pytest
from pyspark.sql import functions as F
from tests.fixtures.pipeline import content, rows_of
from tests.pipeline.measured import case, cut, daily, expected, plain, runs, seen, statements
from tests.scale import full, suite_takes

from headwater.pipeline.query_log import prices
from headwater.pipeline.query_log import schema as S
from headwater.pipeline.query_log.cost import cost, drivers
from headwater.pipeline.query_log.pruning import pruning
from headwater.pipeline.query_log.quality import Alarm, quality
from headwater.pipeline.query_log.touches import NESTED, newest
from headwater.pipeline.query_log.usage import Thresholds, usage

pytestmark = pytest.mark.spark
SIZES = "namespace string, name string, bytes long"


def fits(table, declared):
    """Assert that a table has the declared names and types, as the store demands."""
    assert table.schema.simpleString() == declared.schema.simpleString()


def same(one, other, keys):
    """Row by row, which says what differs."""
    assert one.keys() == other.keys()
    for key in sorted(one, key=str):
        assert one[key] == other[key], key


def test_usage(spark):
    told = case("usage")
    log, known = daily(spark, runs(told["runs"])), statements(spark, told["statements"])
    table = usage(log, known, thresholds=Thresholds(readers=3)).localCheckpoint()
    fits(table, S.USAGE)
    (row,) = table.where("name = 'mart.orders'").select("top_readers").collect()
    assert plain(row[0]) == told["top_readers"]
    same(seen(table, told["usage"], ("name",)), expected(told["usage"], ("name",)), ("name",))
    assert newest(log) == dt.datetime(2026, 4, 10, 12, tzinfo=dt.UTC)


def test_usage_as_it_was(spark):
    """An execution after `as_of` is not there yet, and "now" is then."""
    told = case("usage")
    table = usage(
        daily(spark, runs(told["runs"])), statements(spark, told["statements"]), dt.datetime(2026, 3, 21, tzinfo=dt.UTC)
    )
    found = {row["name"]: (row["reads"], row["status"]) for row in table.collect()}
    assert found == {
        "raw.orders": (0, "unread"),
        "mart.orders": (10, "active"),
        "old.once": (4, "active"),
        "old.stale": (2, "active"),
    }


def test_cost(spark):
    told = case("cost")
    log, known = daily(spark, runs(told["runs"])), statements(spark, told["statements"])
    sizes = spark.createDataFrame([tuple(row) for row in told["storage"]], SIZES)
    table = cost(log, known, storage=sizes, price_list=prices.parse(told["prices"]))
    fits(table, S.COST)
    kept = {
        row["key"]: {name: plain(row[name]) for name in ("namespace", "key", "money", "share")}
        for row in table.where("grain = 'storage'").collect()
    }
    assert kept == {row["key"]: row for row in told["kept"]}
    table = table.where("grain != 'storage'").localCheckpoint()
    keys = ("grain", "namespace", "key")
    same(seen(table, told["cost"], keys), expected(told["cost"], keys), keys)
    for row in (
        table.groupBy("grain").agg({"money": "sum", "slot_ms": "sum", "bytes_billed": "sum", "share": "sum"}).collect()
    ):
        assert plain(row["sum(money)"]) == told["total"]["money"], row
        assert (row["sum(slot_ms)"], row["sum(bytes_billed)"]) == (
            told["total"]["slot_ms"],
            told["total"]["bytes_billed"],
        )
        assert row["sum(share)"] == pytest.approx(1)
    assert [row["key"] for row in drivers(table, "table", 2).collect()] == ["mart.a", "mart.b"]
    assert [row["key"] for row in drivers(table, "shape").collect()] == [
        "build",
        "look",
        "temp",
        "both",
        "idle",
        "misspelt",
        "again",
    ]


def test_shares_are_of_slot_time_where_there_is_no_money(spark):
    told = case("cost")
    rows = [row | {"money": None} for row in runs(told["runs"])]
    table = cost(daily(spark, rows), statements(spark, told["statements"]))
    assert table.where("grain = 'shape' and key = 'build'").first()["share"] == pytest.approx(300 / 311)


def pruned(spark, told, log, **given):
    sizes = spark.createDataFrame([tuple(row) for row in told["storage"]], SIZES)
    kept = spark.createDataFrame([tuple(row) for row in told["kept"]], "namespace string, name string")
    return pruning(
        log,
        statements(spark, told["statements"]),
        storage=sizes,
        price_list=prices.parse(told["prices"]),
        kept=kept,
        **given,
    ).localCheckpoint()


def test_pruning(spark):
    told = case("pruning")
    table = pruned(spark, told, daily(spark, runs(told["runs"])))
    fits(table, S.PRUNING)
    same(seen(table, told["pruning"], ("name",)), expected(told["pruning"], ("name",)), ("name",))
    evidence = {row["name"]: json.loads(row["evidence"]) for row in table.collect()}
    assert {name: evidence[name] for name in told["evidence"]} == told["evidence"]


_SMALL = {
    "write": {"writes": ["dead"], "kind": "INSERT"},
    "look": {"reads": ["weekly"]},
    "monthly": {"reads": ["month_end"]},
    "audit": {"reads": ["settings"], "writes": ["log"], "kind": "INSERT"},
}
_FOUR_WEEKS = [f"2026-03-{day:02}" for day in range(2, 30)]


def advice_of(spark, *more, **tools):
    told = [
        {"run": "write pipeline etl", "days": _FOUR_WEEKS},
        {"run": "look person ada", "days": _FOUR_WEEKS[::7]},
        *more,
    ]
    log = daily(spark, runs(told))
    for shape, tool in tools.items():
        log = log.withColumn("tool", F.when(F.col("shape_id") == shape, tool).otherwise(F.col("tool")))
    rows = pruning(log, statements(spark, _SMALL)).collect()
    return {row["name"]: (row["confidence"], json.loads(row["evidence"])) for row in rows}


def test_a_monthly_reader_lowers_what_four_weeks_of_log_can_say(spark):
    confidence, evidence = advice_of(spark)["dead"]
    # 28 of 90 days, seen for 28 of 30.
    assert confidence == pytest.approx(28 / 90 * 28 / 30, abs=0.001)
    assert (evidence["rare"], evidence["vouches_days"]) == (0.0, 28)
    # One of two datasets with readers rested for 27 days, of 28.
    monthly = {"run": "monthly person ann", "days": ["2026-03-02", "2026-03-29"]}
    lower, evidence = advice_of(spark, monthly)["dead"]
    assert evidence["rare"] == 0.5
    assert lower == pytest.approx(confidence / 2, abs=0.001)


def test_rows_that_are_read_under_another_name_or_from_a_stage_are_needed(spark):
    told = {
        "build": {"reads": ["raw.src"], "writes": ["mart.t_new"], "kind": "INSERT"},
        "fill": {"writes": ["mart.part"], "kind": "INSERT"},
        "look": {"reads": ["mart.t", "mart.whole", "moved.u"]},
        "load": {"writes": ["old.u"], "kind": "INSERT"},
        "unload": {"reads": ["mart.sent"], "writes": ["@stage/x"], "kind": "COPY"},
        "dead": {"writes": ["dead"], "kind": "INSERT"},
        "call": {"level": "partial", "kind": "CALL"},
    }
    log = daily(spark, runs([{"run": f"{shape} pipeline etl", "days": _FOUR_WEEKS} for shape in told if shape != "look"]
        + [{"run": "look person ada", "days": _FOUR_WEEKS}]))  # fmt: skip
    at = dt.datetime(2026, 3, 20, 12, tzinfo=dt.UTC)
    common = {"namespace": "w", "first_at": at, "last_at": at, "executions": 1, "step": 0, "query_id": "q"}
    named = [("mart.t_new", "swapped", "mart.t"), ("mart.t", "swapped", "mart.t_new"), ("mart.part", "part", "mart.whole"),
             ("old.u", "renamed_to", "moved.u"), ("moved.u", "renamed_from", "old.u")]  # fmt: skip
    rows = [{**common, "name": name, "action": action, "other": other} for name, action, other in named]
    changes = rows_of(spark, rows, S.OBJECT_CHANGES.schema)
    without = {row["name"] for row in pruning(log, statements(spark, told)).collect()}
    assert without == {"raw.src", "mart.t_new", "mart.part", "old.u", "dead"}
    (row,) = pruning(log, statements(spark, told), changes=changes).collect()
    assert row["name"] == "dead"
    # One of seven executions may read anything: what CALL runs is not in the log.
    assert json.loads(row["evidence"])["hidden"] == pytest.approx(1 / 7, abs=1e-5)


def test_what_a_trigger_touches_is_needed(spark):
    audit = {"run": "audit pipeline etl", "days": _FOUR_WEEKS}
    assert set(advice_of(spark, audit)) == {"dead", "log", "settings"}
    assert set(advice_of(spark, audit, audit=NESTED)) == {"dead"}


def test_what_was_dropped_is_gone_unless_it_came_back(spark):
    def change(action, name, **before):
        facets = {"lifecycleStateChange": {"lifecycleStateChange": action, **before}}
        return {"outputs": json.dumps([{"namespace": "w", "name": name, "facets": facets}])}

    def made(name, **more):
        return {"writes": [name], "kind": "INSERT", **more}

    told = {
        "raw": made("raw.a"),
        "a": made("dead.a", reads=["raw.a"]),
        "look": {"reads": ["dead.a"]},
        "drop_a": {"kind": "DROP TABLE", **change("DROP", "dead.a")},
        "b": made("dead.b"),
        "drop_b": {"kind": "DROP TABLE", **change("DROP", "dead.b")},
        "c": made("dead.c"),
        "drop_c": {"kind": "DROP TABLE", **change("DROP", "dead.c")},
        "old": made("old.d"),
        "rename": {
            "kind": "ALTER TABLE",
            "reads": ["old.d"],
            "writes": ["new.d"],
            **change("RENAME", "new.d", previousIdentifier={"namespace": "w", "name": "old.d"}),
        },
        "other": made("keep.e", **change("ALTER", "keep.e")),
    }
    log = daily(
        spark,
        runs(
            [
                {"run": "raw pipeline etl", "days": ["2026-01-01", "2026-04-28"]},
                {"run": "a pipeline etl", "days": "2026-04-28"},
                {"run": "look person ada", "days": "2026-04-28"},
                {"run": "drop_a person ada", "days": "2026-04-29"},
                # Made again after it was dropped, as a full refresh does.
                {"run": "b pipeline etl", "days": ["2026-04-28", "2026-04-30"]},
                {"run": "drop_b pipeline etl", "days": "2026-04-29"},
                # It was refused.
                {"run": "c pipeline etl", "days": "2026-04-28"},
                {"run": "drop_c person ada", "days": "2026-04-30", "failures": 1},
                {"run": "old pipeline etl", "days": "2026-04-28"},
                {"run": "rename person ada", "days": "2026-04-30"},
                {"run": "other person ada", "days": "2026-04-30"},
            ]
        ),
    )
    known = statements(spark, told)
    status = {row["name"]: row["status"] for row in usage(log, known).collect()}
    assert status == {
        **{"raw.a": "active", "dead.a": "dropped", "dead.b": "unread", "dead.c": "unread"},
        **{"old.d": "dropped", "new.d": "unread", "keep.e": "unread"},
    }
    # A table that only fed the one that is gone may be deleted, though a person read that one; after it, as after any table it feeds.
    advice = {row["name"]: row["wave"] for row in pruning(log, known).collect()}
    assert advice == {"raw.a": 2, "dead.b": 1, "dead.c": 1, "new.d": 1, "keep.e": 1}


def test_a_short_log_and_statements_that_hide_reads_make_advice_less_sure(spark):
    told = {
        "statements": {
            "dead": {"writes": ["dead.a"], "kind": "INSERT"},
            "names": {"reads": ["b"], "unresolved": 1},
            "opaque": {"level": "nothing"},
        },
        "runs": [
            {"run": "dead pipeline etl", "days": ["2026-04-01", "2026-04-30"], "executions": 3},
            {"run": "names person ada", "days": "2026-04-30", "executions": 1},
            {"run": "opaque person ada", "days": "2026-04-30", "executions": 2, "failures": 1},
            {"run": "- person ada", "days": "2026-04-30", "executions": 2},
        ],
    }
    table = pruning(daily(spark, runs(told["runs"])), statements(spark, told["statements"]))
    (row,) = table.collect()
    # 30 of 90 days; four of ten executions could hide a read.
    assert (row["name"], row["confidence"]) == ("dead.a", 0.2)
    assert json.loads(row["evidence"])["hidden"] == 0.4


def quality_of(spark, told, log, **given):
    named = [
        {
            "day": one["day"],
            "source": "postgres",
            "namespace": "w",
            "dialect": "postgres",
            "place": "{}",
            "shape_id": one["shape"],
            "told_reads": one.get("reads"),
            "told_writes": one.get("writes"),
            "executions": one["executions"],
        }
        for one in told["told"]
    ]
    apart = [
        {"source": "postgres", **one, "at": one.get("at") and dt.datetime.combine(one["at"], dt.time(9), dt.UTC)}
        for one in told["quarantine"]
    ]
    return quality(
        log,
        statements(spark, told["statements"]),
        rows_of(spark, named, S.TOLD.schema),
        rows_of(spark, apart, S.QUARANTINE.schema),
        **given,
    )


def test_quality(spark):
    told = case("quality")
    table = quality_of(spark, told, daily(spark, runs(told["runs"])))
    fits(table, S.QUALITY)
    for row in told["quality"]:
        row["day"] = row["day"].isoformat()
    found = {(plain(key[0]), key[1]): row for key, row in seen(table, told["quality"], ("day", "namespace")).items()}
    same(found, expected(told["quality"], ("day", "namespace")), ("day", "namespace"))


def test_how_much_worse_is_worse_can_be_said(spark):
    told = case("quality")
    table = quality_of(spark, told, daily(spark, runs(told["runs"])), alarm=Alarm(fall=0.06))
    assert table.where("dropped").count() == 0


MEASURES = {
    "usage": lambda spark, told, log, known: usage(log, known),
    "cost": lambda spark, told, log, known: cost(log, known),
    "quality": lambda spark, told, log, known: quality_of(spark, told, log),
    "pruning": lambda spark, told, log, known: pruned(spark, told, log),
}


@pytest.mark.parametrize("name", suite_takes(MEASURES, ["usage"]))
def test_rows_cut_in_any_way_measure_the_same(spark, name):
    """Daily rows say the same in any number and order, so increments, late rows and partitions cannot matter."""
    measure, told = MEASURES[name], case(name)
    known = statements(spark, told["statements"])
    rows = runs(told["runs"])
    once = content(measure(spark, told, daily(spark, rows), known))
    for seed in range(1, full(1 if name == "pruning" else 4, 1) + 1):
        assert once == content(measure(spark, told, daily(spark, cut(rows, seed)).repartition(3), known.repartition(2)))


def test_an_empty_log_measures_nothing(spark):
    log, known = daily(spark, []), statements(spark, {})
    assert newest(log) is None
    for table in (usage(log, known), cost(log, known), quality(log, known), pruning(log, known)):
        assert table.count() == 0
