"""The published part of the tables: rows of one shape (kind, namespace, name, payload), which `events` makes events of.

`payload` is JSON. A job is named `<kind> <target> <first eight of the shape>`; the target is the first table written, by name, else the asset of
the BI tool that asked, else the first table read. A shape that means other tables in another place is another job.
"""

import datetime as dt
from collections.abc import Collection, Sequence
from functools import reduce
from typing import Final, Literal

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

from headwater.pipeline.query_log.events import FACET_OF, LOG_JOB
from headwater.pipeline.query_log.object_changes import listed
from headwater.pipeline.query_log.schema import (
    COST,
    DAILY,
    EXECUTIONS,
    OBJECT_CHANGES,
    PRUNING,
    QUALITY,
    RECURRENCE,
    SHAPES,
    TEXTS_LIST,
    UNDERSTOOD,
    USAGE,
)
from headwater.pipeline.tables import Store, Table

Runs = Literal["latest", "daily", "every"]

# Published users and tools of a warehouse, the most expensive of each grain; actors and tools of a job.
DRIVERS: Final = 1_000
_LISTED: Final = 20
_JSON: Final = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
_SPENT: Final = ("executions", "money", "bytes_billed", "slot_ms", "duration_ms", "credits")
_SUMMED: Final = ("duration_ms", "bytes_read", "bytes_billed", "bytes_written", "rows_written", "slot_ms", "cpu_ms")
_PLACED: Final = ["namespace", "shape_id", "place"]

# The tables that runs and measures are published from.
RUNS_OF: Final = (UNDERSTOOD, SHAPES, EXECUTIONS, DAILY)
MEASURES_OF: Final = (UNDERSTOOD, SHAPES, DAILY, USAGE, COST, RECURRENCE, QUALITY, PRUNING, OBJECT_CHANGES)

ROWS: Final = StructType(
    [
        StructField("kind", StringType()),
        StructField("namespace", StringType()),
        StructField("name", StringType()),
        StructField("payload", StringType()),
        StructField("facets", TEXTS_LIST),
    ]
)


def job_name(kind: Column, reads: Column, writes: Column, temporary: Column, asset: Column, shape_id: Column) -> Column:
    """The name of the job that a shape is in its place. `asset`: tool and asset of a BI tool, null where there is none."""
    written = F.array_min(F.transform(writes, lambda one: one["name"]))
    target = F.coalesce(
        F.when(~F.coalesce(temporary, F.lit(False)), written), asset, F.try_element_at(reads, F.lit(1))["name"]
    )
    return F.concat_ws(" ", F.coalesce(kind, F.lit("QUERY")), target, F.substring(shape_id, 1, 8))


def _asset() -> Column:
    """The asset that the rows were for, if a BI tool names it: `looker:dashboard/12`."""
    told = F.concat_ws(":", "tool", "tool_asset")
    return F.when((F.col("actor_kind") == "bi") & F.col("tool").isNotNull() & F.col("tool_asset").isNotNull(), told)


def _named(rows: DataFrame, statements: DataFrame, shapes: DataFrame) -> DataFrame:
    """Rows that have a shape (executions or their sums) with what is known of their statement, and the name of their job."""
    known = statements.select(*_PLACED, "level", F.col("kind").alias("statement_kind_"), "reads", "writes", "temporary")
    shape = shapes.select("shape_id", F.col("kind").alias("shape_kind"))
    joined = rows.where(F.col("shape_id").isNotNull()).join(known, _PLACED, "left").join(shape, ["shape_id"], "left")
    name = job_name(
        F.coalesce("statement_kind_", "shape_kind"),
        F.col("reads"),
        F.col("writes"),
        F.col("temporary"),
        _asset(),
        F.col("shape_id"),
    )
    tables = F.coalesce(F.size("reads") + F.size("writes"), F.lit(0)) > 0
    making = F.coalesce((F.size("writes") > 0) & ~F.coalesce("temporary", F.lit(False)), F.lit(False))
    found = joined.withColumns({"job": name, "tables": tables, "making": making})
    return found.drop("statement_kind_", "shape_kind", "temporary")


def run_rows(store: Store, days: Collection[dt.date], runs: Runs, batch: DataFrame | None = None) -> DataFrame:
    """Executions of these days that are runs: the latest of each job and task (`latest`); of jobs that write the latest of each day, of others that
    of the first day and the latest (`daily`), for what is written has versions, and what is read only that it was; or `every` one.

    If a job's latest run did not succeed, its latest that did is a run as well: only that one says what it reads and writes. An execution
    that reads and writes nothing known is no run. `batch`: rows with (source, namespace, query_id), of which every one is wanted and no other.
    """
    statements, shapes = store.read(UNDERSTOOD), store.read(SHAPES)
    executions = store.read(EXECUTIONS, days)
    key = ["day", "source", "namespace", "query_id"]
    if runs == "every":
        wanted = executions
        if batch is not None:
            wanted = executions.join(batch.select("source", "namespace", "query_id"), key[1:], "left_semi")
    else:
        wanted = executions.join(_latest(store, days, runs, statements, shapes), key, "left_semi")
    named = _named(wanted, statements, shapes).where("tables")
    texts = shapes.select("shape_id", F.col("normalised").alias("sql"))
    more = statements.select(*_PLACED, "outputs", "temporary")
    told = named.join(texts, ["shape_id"], "left").join(more, _PLACED, "left")
    left_out = {*_PLACED[1:], "day", "text_key", "file", "tables", "making", "told_reads", "told_writes", "search_path"}
    ended = F.coalesce(
        "ended_at",
        F.timestamp_add(
            "MICROSECOND", (F.least(F.col("duration_ms"), F.lit(10**11)) * 1_000).cast("long"), F.col("started_at")
        ),
    )
    told = told.withColumn("ended_at", ended)
    return _rows(
        told, "run", "query_id", F.struct(*(_finite(told, name) for name in told.columns if name not in left_out)), []
    )


def _latest(store: Store, days: Collection[dt.date], runs: Runs, statements: DataFrame, shapes: DataFrame) -> DataFrame:
    """(day, source, namespace, query_id) of the latest executions, from the sums of the days; where some failed and some did not, from themselves."""
    sums = _named(store.read(DAILY, days), statements, shapes).where("tables")
    by = ["namespace", "job", "job_namespace", "job_name"]
    told = [*by, "making", "day", "source"]
    pure = sums.where((F.col("failures") == 0) | (F.col("failures") == F.col("executions"))).select(
        *told,
        (F.col("failures") == 0).alias("good"),
        F.col("last_at").alias("started_at"),
        F.col("last_query_id").alias("query_id"),
    )
    mixed = sums.where((F.col("failures") > 0) & (F.col("failures") < F.col("executions")))
    single = _named(
        store.read(EXECUTIONS, days).join(
            F.broadcast(mixed.select("day", *_PLACED).distinct()), ["day", *_PLACED], "left_semi"
        ),
        statements,
        shapes,
    ).select(*told, (F.col("state") == "succeeded").alias("good"), "started_at", "query_id")
    both = pure.unionByName(single)
    if runs == "daily":
        first = F.min("day").over(Window.partitionBy(*by))
        both = both.withColumn("of_day", F.when(F.col("making") | (F.col("day") == first), F.col("day")))
        by = [*by, "of_day"]
    last = both.groupBy(*by, "good").agg(
        F.max(F.struct("started_at", "query_id", "source", F.col("day").alias("on_day"))).alias("last")
    )
    # A failure is published if it is the latest outcome.
    newest = last.withColumn("newest", F.max("last.started_at").over(Window.partitionBy(*by)))
    kept = newest.where(F.col("good") | (F.col("last.started_at") == F.col("newest")))
    return kept.select(
        F.col("last.on_day").alias("day"), F.col("last.source").alias("source"), "namespace", F.col("last.query_id").alias("query_id")
    ).distinct()  # fmt: skip


def measured_rows(store: Store) -> DataFrame:
    """Everything that was measured: of datasets, of shapes' jobs, of tasks and models, of each log and each of its days."""
    parts = (_datasets(store), _shapes(store), _tasks(store), _logs(store), _quality(store))
    return reduce(DataFrame.unionByName, parts)


def _datasets(store: Store) -> DataFrame:
    usage = _structs(store.read(USAGE), USAGE, "usage", ["namespace", "name"])
    pruning = _structs(store.read(PRUNING), PRUNING, "pruning", ["namespace", "name"])
    costs = store.read(COST).where(F.col("key") != "")
    keys = ["namespace", F.col("key").alias("name")]
    made = costs.where(F.col("grain") == "table").select(*keys, "grain", *_spent())
    kept = costs.where(F.col("grain") == "storage").select(*keys, _number(F.col("money")).alias("keep_month"))
    both = made.join(kept, ["namespace", "name"], "full")
    cost = both.select(
        "namespace", "name", F.struct(F.lit("table").alias("grain"), *_SPENT, "share", "keep_month").alias("cost")
    )
    told = usage
    for more in (cost, pruning, listed(store.read(OBJECT_CHANGES))):
        told = told.join(more, ["namespace", "name"], "full")
    parts = ["usage", "cost", "pruning", "changes"]
    return _rows(told, "dataset", "name", F.struct(*parts), parts)


def _shapes(store: Store) -> DataFrame:
    """Jobs of query shapes, but for those that were understood, touch no table and cost nothing (BEGIN, SET, SELECT 1).

    A shape that is several jobs shares what it cost among them by the time they took, else by how often they ran.
    """
    shapes = store.read(SHAPES)
    sums = _named(store.read(DAILY), store.read(UNDERSTOOD), shapes)
    by, of = ["namespace", "job"], ["namespace", "shape_id"]
    jobs = sums.groupBy(*by).agg(
        F.max("shape_id").alias("shape_id"),
        F.sum("executions").alias("executions"),
        F.sum("failures").alias("failures"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        *(F.try_sum(name).alias(name) for name in _SUMMED),
        F.max(F.struct("last_at", "last_query_id"))["last_query_id"].alias("last_query_id"),
        F.max(F.struct("last_at", "source", "dialect")).alias("told"),
        F.max("level").alias("level"),
        F.max("tables").alias("tables"),
    )
    together = Window.partitionBy(*of)
    took, ran = F.sum("duration_ms").over(together), F.sum("executions").over(together)
    jobs = jobs.withColumns(
        {
            "jobs": F.count(F.lit(1)).over(together),
            "part": F.when(took > 0, F.coalesce("duration_ms", F.lit(0)) / took).otherwise(F.col("executions") / ran),
        }
    )
    actors = _most(sums.where(F.col("actor").isNotNull()), by, {"actor": "actor", "kind": "actor_kind"}, "actors")
    tools = {"tool": "tool", "asset": "tool_asset", "name": "tool_asset_name"}
    used = _most(sums.where(F.col("tool").isNotNull()), by, tools, "tools")
    cost = store.read(COST).where(F.col("grain") == "shape").withColumnRenamed("key", "shape_id")
    spent = cost.select(*of, F.struct(*_SPENT, "share").alias("spent"))
    recurrence = _structs(store.read(RECURRENCE), RECURRENCE, "recurrence", of)
    texts = shapes.select("shape_id", F.col("normalised").alias("sql"))
    told = jobs.join(spent, of, "left")
    told = told.where(
        F.col("tables") | (F.coalesce("level", F.lit("")) != "full") | (F.coalesce("spent.money", F.lit(0.0)) > 0)
    )
    told = (
        told.join(actors, by, "left")
        .join(used, by, "left")
        .join(recurrence, of, "left")
        .join(texts, ["shape_id"], "left")
    )
    counts = ["executions", "failures", "first_at", "last_at", *_SUMMED, "level", "last_query_id", "actors", "tools"]
    parts = [_part(told.schema["spent"].dataType[name]) for name in (*_SPENT, "share")]
    told = told.select(
        *by,
        "recurrence",
        F.struct(*counts).alias("queries"),
        F.when(F.col("spent").isNotNull(), F.struct(F.lit("shape").alias("grain"), *parts)).alias("cost"),
        # A job with tables has runs, and these say the rest.
        *(F.when(~F.col("tables"), F.col(name)).alias(as_) for name, as_ in _TEXT.items()),
    )
    payload = F.struct("queries", "cost", "recurrence", *_TEXT.values())
    return _rows(told, "shape", "job", payload, ["queries", "cost", "recurrence"])


_TEXT: Final = {"sql": "sql", "told.source": "source", "told.dialect": "dialect"}


def _part(field: StructField) -> Column:
    """Return one job's part of a shape's cost: all of it if the shape has no other job."""
    whole = F.col(f"spent.{field.name}")
    part = whole * F.col("part")
    if isinstance(field.dataType, LongType):
        return F.when(F.col("jobs") == 1, whole).otherwise(F.round(part).cast("long")).alias(field.name)
    return _number(F.when(F.col("jobs") == 1, whole.cast("double")).otherwise(part.cast("double"))).alias(field.name)


def _tasks(store: Store) -> DataFrame:
    """Return the costs of Airflow tasks and dbt models, as rows of the jobs that their own events name."""
    rows = store.read(COST).where(F.col("grain").isin("task", "model") & (F.col("key") != ""))
    cost = F.max(F.struct("grain", *_spent())).alias("cost")
    return _rows(
        rows.groupBy("namespace", F.col("key").alias("name")).agg(cost), "job", "name", F.struct("cost"), ["cost"]
    )


def _logs(store: Store) -> DataFrame:
    """Return the costs of the dearest users and tools of each warehouse."""
    rows = store.read(COST).where(F.col("grain").isin("user", "tool") & (F.col("key") != ""))
    dearest = [F.desc_nulls_last(name) for name in ("money", "slot_ms", "duration_ms", "executions")]
    rank = F.row_number().over(Window.partitionBy("namespace", "grain").orderBy(*dearest, "key"))
    told = rows.withColumn("rank", rank).withColumn("driver", F.struct("grain", "key", *_spent()))
    listed = F.collect_list(F.when(F.col("rank") <= DRIVERS, F.struct("grain", "rank", "driver")))
    logs = told.groupBy("namespace").agg(
        F.transform(F.sort_array(listed), lambda one: one["driver"]).alias("drivers"),
        F.count(F.when(F.col("rank") > DRIVERS, 1)).alias("hidden_drivers"),
    )
    cost = F.struct("drivers", "hidden_drivers").alias("cost")
    return _rows(
        logs.select("namespace", F.lit(LOG_JOB).alias("name"), cost), "log", "name", F.struct("cost"), ["cost"]
    )


# Columns of QUALITY: their fields in the facet.
_PUBLISHED = {"told_executions": "named_executions", "told_agreed": "named_agreed", "told_only": "named_only"}


def _quality(store: Store) -> DataFrame:
    left_out = {"namespace", "coverage_shapes", "coverage_executions", "trailing_coverage", "dropped"}
    one = F.struct(
        *(F.col(name).alias(_PUBLISHED.get(name, name)) for name in QUALITY.columns() if name not in left_out)
    )
    rows = store.read(QUALITY).select(
        "namespace", F.concat_ws(" ", "day", "dialect").alias("name"), F.array(one).alias("days")
    )
    return _rows(rows, "quality", "name", F.struct("days"), [])


def _most(sums: DataFrame, by: Sequence[str], columns: dict[str, str], name: str) -> DataFrame:
    """Return the values with the most executions for each of `by`, the most first."""
    counted = sums.groupBy(*by, *columns.values()).agg(F.sum("executions").alias("count"))
    order = [F.coalesce(column, F.lit("")).alias(column) for column in columns.values()]
    one = F.struct(*(F.col(column).alias(as_) for as_, column in columns.items()), F.col("count").alias("executions"))
    sorted_by = F.struct((-F.col("count")).alias("least"), *order, one.alias("told"))
    most = F.slice(F.sort_array(F.collect_list(sorted_by)), 1, _LISTED)
    return counted.groupBy(*by).agg(F.transform(most, lambda each: each["told"]).alias(name))


def _structs(rows: DataFrame, table: Table, name: str, keys: list[str]) -> DataFrame:
    """The keys of a table, and its other columns as one."""
    return rows.select(*keys, F.struct(*(_finite(rows, one) for one in table.columns() if one not in keys)).alias(name))


def _spent() -> list[Column]:
    floats = ("money", "credits", "share")
    return [_number(F.col(name)).alias(name) if name in floats else F.col(name) for name in (*_SPENT, "share")]


def _finite(rows: DataFrame, name: str) -> Column:
    """The column; what JSON has no number for is null."""
    kind = rows.schema[name].dataType
    return _number(F.col(name)).alias(name) if isinstance(kind, DoubleType) else F.col(name)


def _number(column: Column) -> Column:
    return F.when(F.abs(column) < 1e300, column)


def _rows(rows: DataFrame, kind: str, name: str, payload: Column, facets: Sequence[str]) -> DataFrame:
    told = [F.when(F.col(one).isNotNull(), F.lit(FACET_OF[one])) for one in facets]
    made = rows.select(
        F.lit(kind).alias("kind"),
        "namespace",
        F.col(name).alias("name"),
        F.to_json(payload, _JSON).alias("payload"),
        (F.array_compact(F.array(*told)) if told else F.expr("cast(array() as array<string>)")).alias("facets"),
    )
    return made.where(F.col("namespace").isNotNull() & F.col("name").isNotNull())
