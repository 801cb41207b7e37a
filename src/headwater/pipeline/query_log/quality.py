"""The quality of a log's lineage: the understood part of what ran, day by day, and whether that got worse.

Only executions that succeeded count: a statement the warehouse refused moved nothing, and often is no SQL. Statements that were understood whole and
touch no table (SET, BEGIN, SELECT 1) are idle, and no part of the coverage: else a chatty driver would improve it.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.schema import QUALITY, WHOLE
from headwater.pipeline.query_log.touches import KEY

LEVELS: Final = ("full", "partial", "tables", "nothing")
"""From the best to the worst."""
NO_DAY: Final = "1970-01-01"
"""The day of what stands in quarantine without a time."""
_GROUP: Final = ("day", "namespace", "dialect")


@dataclass(frozen=True, slots=True)
class Alarm:
    """A day is `dropped` when its coverage of executions is more than `fall` below that of the `days` days before, if `least` of them had any."""

    days: int = 14
    least: int = 3
    fall: float = 0.05


def quality(
    daily: DataFrame,
    statements: DataFrame,
    told: DataFrame | None = None,
    quarantine: DataFrame | None = None,
    alarm: Alarm | None = None,
) -> DataFrame:
    """QUALITY of every day, namespace and dialect of `daily`. A day's row depends on the days before it: give all days, or those of the change and
    `Alarm.days` before and after, and keep the ones between.

    executions = full + partial + tables + nothing + textless. A shape is what the worst of its places is. A statement that was not parsed is
    `nothing`. `unresolved`: names in the day's distinct statements. coverage: full ones that are not idle, of all that are not idle, 0 to 1, null if
    there are none. trailing_coverage: of all executions of the days before together.

    `told` (TOLD): executions whose source named tables; agreed when those are the parsed ones, told_only when it named one that was not found,
    parsed_only the reverse; one execution may be both. Names agree without regard to case, and when the source's is the end of ours.

    `quarantine`: its rows by the day of `at` (or NO_DAY): under the namespace and dialect of their source where it has only one in the log, else
    under the source's name, because unreadable rows do not name their namespace.
    """
    knobs = alarm or Alarm()
    days = _days(daily, statements)
    if told is not None:
        days = days.join(_compared(told, statements), list(_GROUP), "left")
    if quarantine is not None:
        days = days.join(_quarantined(quarantine, daily), list(_GROUP), "full")
    counts = {field.name: field.dataType for field in QUALITY.schema if field.dataType == WHOLE}
    filled = {
        name: F.coalesce(F.col(name) if name in days.columns else F.lit(0), F.lit(0)).cast(kind)
        for name, kind in counts.items()
    }
    codes = QUALITY.schema["quarantined_by"].dataType
    found = F.col("quarantined_by") if quarantine is not None else F.lit(None).cast(codes)
    filled["quarantined_by"] = F.coalesce(found, F.array().cast(codes))
    return QUALITY.ordered(_watched(days.withColumns(filled), knobs))


def _days(daily: DataFrame, statements: DataFrame) -> DataFrame:
    worked = F.col("executions") - F.col("failures")
    ran = daily.where(worked > 0).groupBy(*_GROUP, "shape_id", "place").agg(F.sum(worked).alias("executions"))
    touched = F.coalesce(F.size("reads"), F.lit(0)) + F.coalesce(F.size("writes"), F.lit(0))
    unresolved = F.coalesce("unresolved", F.lit(0).cast("long"))
    rank = reduce(
        lambda rest, place: F.when(F.col("level") == LEVELS[place], place).otherwise(rest), range(3), F.lit(3)
    )
    known = statements.select(
        *KEY,
        rank.alias("rank"),
        unresolved.alias("unresolved"),
        ((rank == 0) & (touched == 0) & (unresolved == 0)).alias("idle"),
    )
    by_statement = (
        ran.join(known, list(KEY), "left")
        .withColumn("rank", F.when(F.col("shape_id").isNotNull(), F.coalesce("rank", F.lit(3))))
        .withColumn("idle", F.coalesce("idle", F.lit(False)))
    )

    def of(rank: int) -> Column:
        return F.coalesce(F.sum(F.when(F.col("rank") == rank, F.col("executions"))), F.lit(0).cast("long"))

    # First by shape, then by day: a count of distinct shapes without a row for each of them on one machine.
    by_shape = by_statement.groupBy(*_GROUP, "shape_id").agg(
        F.max("rank").alias("worst"),
        F.min("idle").alias("idle"),
        F.sum(F.when(F.col("idle"), F.col("executions")).otherwise(0)).alias("idle_executions"),
        F.sum("executions").alias("executions"),
        F.coalesce(F.sum("unresolved"), F.lit(0).cast("long")).alias("unresolved"),
        *(of(rank).alias(f"{level}_executions") for rank, level in enumerate(LEVELS)),
        F.coalesce(F.sum(F.when(F.col("rank").isNull(), F.col("executions"))), F.lit(0).cast("long")).alias(
            "textless_executions"
        ),
    )
    return by_shape.groupBy(*_GROUP).agg(
        F.count("shape_id").alias("shapes"),
        *(F.count(F.when(F.col("worst") == rank, 1)).alias(f"{level}_shapes") for rank, level in enumerate(LEVELS)),
        F.count(F.when(F.col("idle"), 1)).alias("idle_shapes"),
        *(F.sum(name).alias(name) for name in ("executions", "idle_executions", "textless_executions", "unresolved")),
        *(F.sum(f"{level}_executions").alias(f"{level}_executions") for level in LEVELS),
    )


def _watched(days: DataFrame, knobs: Alarm) -> DataFrame:
    covered, counted = (
        F.col("full_executions") - F.col("idle_executions"),
        F.col("executions") - F.col("idle_executions"),
    )
    before = Window.partitionBy("namespace", "dialect").orderBy(F.unix_date("day")).rangeBetween(-knobs.days, -1)
    all_before = F.sum(counted).over(before)
    enough = (F.count(F.when(counted > 0, 1)).over(before) >= knobs.least) & (all_before > 0)
    return (
        days.withColumn("coverage_executions", _ratio(covered, counted))
        .withColumn(
            "coverage_shapes",
            _ratio(F.col("full_shapes") - F.col("idle_shapes"), F.col("shapes") - F.col("idle_shapes")),
        )
        .withColumn("trailing_coverage", F.when(enough, _ratio(F.sum(covered).over(before), all_before)))
        .withColumn(
            "dropped",
            F.coalesce(F.col("coverage_executions") < F.col("trailing_coverage") - F.lit(knobs.fall), F.lit(False)),
        )
    )


def _ratio(part: Column, whole: Column) -> Column:
    return F.when(whole > 0, part.cast("double") / whole.cast("double"))


def _quarantined(quarantine: DataFrame, daily: DataFrame) -> DataFrame:
    """Count quarantined rows by day, under the namespace and dialect of their source if that has only one, else under the source's name."""
    own = F.struct("namespace", "dialect")
    homes = daily.groupBy("source").agg(F.min(own).alias("home"), F.max(own).alias("other"))
    one = homes.where(F.col("home") == F.col("other")).select("source", "home")
    day = F.coalesce(F.to_date("at"), F.lit(NO_DAY).cast("date")).alias("day")
    by_code = quarantine.groupBy(day, "source", "code").agg(F.count(F.lit(1)).alias("rows"))
    named = by_code.join(F.broadcast(one), "source", "left").withColumns(
        {"namespace": F.coalesce("home.namespace", "source"), "dialect": F.coalesce("home.dialect", "source")}
    )
    counted = named.groupBy(*_GROUP, "code").agg(F.sum("rows").alias("rows"))
    return counted.groupBy(*_GROUP).agg(
        F.sum("rows").alias("quarantined"),
        F.sort_array(F.collect_list(F.struct("code", "rows"))).alias("quarantined_by"),
    )


def _compared(told: DataFrame, statements: DataFrame) -> DataFrame:
    """Compare the tables that sources named with those that were parsed, in executions by day."""
    parsed = statements.select(*KEY, _names("reads").alias("reads"), _names("writes").alias("writes"))
    none = F.array().cast("array<string>")
    both = told.join(parsed, list(KEY), "left").select(
        *_GROUP,
        "executions",
        *(F.transform(f"told_{act}", lambda one: F.lower(one)).alias(f"told_{act}") for act in ("reads", "writes")),
        *(F.coalesce(act, none).alias(act) for act in ("reads", "writes")),
    )

    def unknown(found: Column, among: Column, *, ours: bool) -> Column:
        """Return whether a name of `found` is not `among` the others. Null, when the source named none of the kind, is no."""

        def same(one: Column, other: Column) -> Column:
            long, short = (one, other) if ours else (other, one)
            return (long == short) | long.endswith(F.concat(F.lit("."), short))

        return F.coalesce(F.exists(found, lambda one: ~F.exists(among, lambda other: same(one, other))), F.lit(False))

    def either(ours: bool) -> Column:
        pairs = [
            (F.col(act), F.col(f"told_{act}")) if ours else (F.col(f"told_{act}"), F.col(act))
            for act in ("reads", "writes")
        ]
        return reduce(Column.__or__, [unknown(found, among, ours=ours) for found, among in pairs])

    marked = both.withColumns({"told_only": either(False), "parsed_only": either(True)})
    chosen = {
        "told_executions": F.lit(True),
        "told_agreed": ~F.col("told_only") & ~F.col("parsed_only"),
        "told_only": F.col("told_only"),
        "parsed_only": F.col("parsed_only"),
    }
    counted = (
        F.sum(F.when(condition, F.col("executions")).otherwise(0)).alias(name) for name, condition in chosen.items()
    )
    return marked.groupBy(*_GROUP).agg(*counted)


def _names(column: str) -> Column:
    return F.transform(column, lambda one: F.lower(one["name"]))
