"""The cost of a warehouse's queries, by table, shape, user, task, model and tool, and the cost of keeping its tables.

Every execution's money counts, also of those that failed. A statement that leaves something behind is charged to what it writes (that is what the
table costs to make); any other to what it read, and what touched nothing to the key "". A name that only statements that failed touch is no
table, and neither is one that lives as long as a session: their cost goes to "". Charged to several tables it is split evenly, to
the last place: the first tables by name take what does not divide. So the rows of every grain add up to the same total, exactly.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log import prices
from headwater.pipeline.query_log.prices import MONEY, Prices
from headwater.pipeline.query_log.schema import COST, DATASETS
from headwater.pipeline.query_log.touches import KEY, acts, datasets, first_day, newest, until

WINDOW: Final = 30
NO_KEY: Final = ""
"""The key of what can be charged to nothing of a grain."""
_WHOLE: Final = ("bytes_billed",)
_EXACT: Final = ("money", "credits", "slot_ms", "duration_ms")
SPLIT: Final = (*_EXACT, *_WHOLE)
_PLACES: Final = 9


def cost(
    daily: DataFrame,
    statements: DataFrame,
    as_of: datetime | None = None,
    days: int = WINDOW,
    storage: DataFrame | None = None,
    price_list: Prices | None = None,
) -> DataFrame:
    """COST of the `days` days that end with the day of `as_of` (by default the newest time in the log).

    Grains: `table` (what it costs to make and to be read), `shape`, `user`, `task` (a job of any tool but dbt), `model` (dbt's), `tool`. A measure
    is null where no execution has it. `executions` are not split: a statement counts at every table it is charged to. `share` is of all money; of
    slot time, or else of time, where there is no money at all.

    With `storage` (namespace, name, bytes) and its prices there are rows of grain `storage`: the money a month that keeping a table costs. They are a
    total of their own.
    """
    at = as_of or newest(daily)
    if at is None:
        return daily.sparkSession.createDataFrame([], COST.schema)
    rows = in_window(daily, at, days)
    dbt = F.coalesce(F.col("tool") == "dbt", F.lit(False))
    job = F.col("job_name").isNotNull()
    model = F.coalesce("job_name", "tool_asset")
    space = F.coalesce("job_namespace", "namespace")
    grains = [
        _summed(rows, "shape", F.col("namespace"), F.col("shape_id")),
        _summed(rows, "user", F.col("namespace"), F.col("actor")),
        _summed(rows, "task", F.when(job & ~dbt, space), F.when(job & ~dbt, F.col("job_name"))),
        _summed(rows, "model", F.when(dbt & model.isNotNull(), space), F.when(dbt, model)),
        _summed(rows, "tool", F.col("namespace"), F.col("tool")),
        _table(charges(rows, statements, datasets(until(daily, at), statements))),
    ]
    total = rows.agg(*(_total(name).alias(f"all_{name}") for name in SPLIT))
    shared = reduce(DataFrame.unionByName, grains).join(F.broadcast(total), how="cross").withColumn("share", _share())
    if storage is not None and price_list is not None:
        shared = shared.unionByName(_storage_cost(storage, price_list), allowMissingColumns=True)
    return shared.selectExpr(*COST.typed())


def drivers(costs: DataFrame, grain: str, count: int = 10) -> DataFrame:
    """The `count` rows of a grain that cost most, by money, then slot time, then time; then by name. The row of key "" is left out."""
    most = (F.desc_nulls_last(name) for name in ("money", "slot_ms", "duration_ms"))
    return (
        costs.where((F.col("grain") == grain) & (F.col("key") != NO_KEY))
        .orderBy(*most, "namespace", "key")
        .limit(count)
    )


def in_window(daily: DataFrame, at: datetime, days: int) -> DataFrame:
    """The rows of the `days` days that end with the day of `at`, with money, credits and times as decimals of nine places."""
    rows = until(daily, at).where(F.col("day") >= F.lit(first_day(at, days)))
    return rows.withColumns({name: F.col(name).try_cast(MONEY) for name in _EXACT})


def charges(rows: DataFrame, statements: DataFrame, known: DataFrame) -> DataFrame:
    """Return the cost of each statement (KEY) for each table it is charged to: namespace, name, lasts (it made the table), executions,
    SPLIT's columns. `known` (namespace, name): the tables that anything is charged to.

    The split is of a statement's sums over `rows`, so it does not depend on how they are cut into rows.
    """
    of_statement = rows.groupBy(*KEY).agg(
        F.sum("executions").alias("executions"), *(_total(name).alias(name) for name in SPLIT)
    )
    meant = acts(statements).select(
        *KEY,
        "lasts",
        F.explode_outer(F.when(F.col("lasts"), F.col("made")).otherwise(F.col("asked"))).alias("table"),
    )
    there = known.select(F.struct("namespace", "name").alias("table"), F.lit(True).alias("there"))
    charged = (
        meant.join(there, "table", "left")
        .groupBy(*KEY, "lasts")
        .agg(F.array_sort(F.collect_list(F.when(F.col("there"), F.col("table")))).alias("tables"))
    )
    # A null shape finds no statement and stays.
    joined = of_statement.join(charged, list(KEY), "left")
    no_table = F.array(F.struct(F.col("namespace").alias("namespace"), F.lit(NO_KEY).alias("name"))).cast(
        DATASETS.simpleString()
    )
    tables = F.when(F.coalesce(F.size("tables"), F.lit(0)) > 0, F.col("tables")).otherwise(no_table)
    spread = joined.withColumn("tables", tables).select(
        *(F.col(name) for name in SPLIT),
        "executions",
        F.coalesce("lasts", F.lit(False)).alias("lasts"),
        F.size("tables").alias("parts"),
        F.posexplode("tables").alias("place", "table"),
    )
    return spread.select(
        "table.namespace",
        "table.name",
        "lasts",
        "executions",
        *(_even(name).alias(name) for name in _EXACT),
        *(_even_whole(name).alias(name) for name in _WHOLE),
    )


def _even(name: str) -> Column:
    """The part of a decimal at `place` of `parts`. Types are chosen so that Spark keeps all nine places on the way."""
    whole, parts = F.col(name), F.col("parts").cast("decimal(5,0)")
    least = F.call_function("floor", whole / parts, F.lit(_PLACES)).cast(MONEY)
    rest = whole - (least * parts).cast(MONEY)
    last = F.lit(1).cast("decimal(10,0)") * F.expr("0.000000001")
    return (least + F.when(F.col("place") * last < rest, last).otherwise(last * 0)).cast(MONEY)


def _even_whole(name: str) -> Column:
    whole, parts = F.col(name), F.col("parts").cast("long")
    rest = F.pmod(whole, parts)
    return (whole - rest).try_cast("decimal(20,0)") / parts.cast("decimal(10,0)") + F.when(
        F.col("place") < rest, 1
    ).otherwise(0)


def _summed(rows: DataFrame, grain: str, namespace: Column, key: Column) -> DataFrame:
    named = F.when(key.isNotNull(), F.coalesce(namespace, F.lit(NO_KEY))).otherwise(F.lit(NO_KEY))
    grouped = rows.groupBy(named.alias("namespace"), F.coalesce(key, F.lit(NO_KEY)).alias("key"))
    return grouped.agg(
        F.sum("executions").alias("executions"), *(_total(name).alias(name) for name in SPLIT)
    ).withColumn("grain", F.lit(grain))


def _table(charged: DataFrame) -> DataFrame:
    by_table = charged.withColumn("namespace", F.when(F.col("name") == NO_KEY, NO_KEY).otherwise(F.col("namespace")))
    grouped = by_table.groupBy("namespace", F.col("name").alias("key"))
    return grouped.agg(
        F.sum("executions").alias("executions"), *(_total(name).alias(name) for name in SPLIT)
    ).withColumn("grain", F.lit("table"))


def _total(name: str) -> Column:
    """The sum, of decimals as decimals; null if no row has the measure, or past the range of its type."""
    return F.try_sum(name).try_cast(MONEY if name in _EXACT else "long")


def _share(measures: Sequence[str] = ("money", "slot_ms", "duration_ms")) -> Column:
    share = F.lit(None).cast("double")
    for name in reversed(measures):
        everything = F.col(f"all_{name}").cast("double")
        part = F.coalesce(F.col(name), F.lit(0)).cast("double")
        share = F.when(everything > 0, part / everything).otherwise(share)
    return share


def _storage_cost(storage: DataFrame, price_list: Prices) -> DataFrame:
    priced = monthly(storage, price_list).withColumnRenamed("name", "key")
    total = priced.agg(_total("money").alias("all_money"))
    return priced.join(F.broadcast(total), how="cross").select(
        F.lit("storage").alias("grain"),
        "namespace",
        "key",
        F.lit(0).cast("long").alias("executions"),
        "money",
        _share(("money",)).alias("share"),
    )


def monthly(storage: DataFrame, price_list: Prices) -> DataFrame:
    """namespace, name, money: the monthly cost of keeping each table. Sizes reported several times for a table are not added: the largest counts."""
    largest = storage.groupBy("namespace", "name").agg(F.max("bytes").alias("bytes"))
    return largest.select(
        "namespace", "name", prices.keeping(price_list, F.col("namespace"), F.col("bytes")).alias("money")
    )
