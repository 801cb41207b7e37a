"""The reads and writes of datasets by a log's statements: the join of daily sums with the parsed statements, which usage, cost and
pruning share.

A statement that leaves something behind (it writes a dataset that outlives the session) reads in order to write: its reads are a pipeline's,
also if a person ran it, as with CREATE TABLE AS. A statement that writes nothing, or only temporary tables, reads for its user.
A dataset that a statement reads and writes itself (MERGE, INSERT INTO t … FROM t) is written by it and not read: no reader saw it.
A dataset that a statement reads through temporary tables only is not read by it: the statement that filled the temporary table has read it.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.model.moments import aware
from headwater.pipeline.query_log.schema import DATASETS

KEY: Final = ("namespace", "shape_id", "place")
KINDS: Final = ("person", "service", "bi", "pipeline", "unknown")
READ: Final = "read"
WRITE: Final = "write"
NESTED: Final = "function"
"""The tool of a statement inside a function or a trigger of PostgreSQL."""
UNKNOWN: Final = "unknown"
"""The name of a reader whom the log does not name."""


def newest(daily: DataFrame) -> datetime | None:
    """The newest time in the log, or None of an empty one. One row comes to the driver."""
    row = daily.agg(F.unix_micros(F.max("last_at")).alias("at")).first()
    return (
        None if row is None or row["at"] is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=row["at"])
    )


def moment(at: datetime) -> Column:
    """A time as a literal, independent of the time zone of the session and of this process. A time without a zone is UTC."""
    known = aware(at)
    return F.timestamp_micros(F.lit((known - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)))


def first_day(at: datetime, days: int) -> date:
    """The first of the `days` days that end with the day of `at`."""
    known = at.astimezone(UTC) if at.tzinfo else at
    return known.date() - timedelta(days=days - 1)


def until(daily: DataFrame, as_of: datetime) -> DataFrame:
    """The rows that began at `as_of` or before."""
    return daily.where(F.col("first_at") <= moment(as_of))


def acts(statements: DataFrame) -> DataFrame:
    """The datasets of each statement (KEY): `made`, what it writes, `asked`, what it reads itself and does not write, both distinct; it `lasts`."""
    datasets = DATASETS.simpleString()
    none = F.array().cast(datasets)
    made = F.array_sort(F.array_distinct(F.coalesce(F.col("writes"), none)))
    behind = F.coalesce(F.transform("through", lambda one: F.struct(one["namespace"], one["name"])), none)
    asked = F.array_sort(F.array_except(F.array_except(F.coalesce(F.col("reads"), none), made), behind.cast(datasets)))
    return statements.select(
        *KEY,
        "kind",
        made.alias("made"),
        asked.alias("asked"),
        ((F.size(made) > 0) & ~F.coalesce(F.col("temporary"), F.lit(False))).alias("lasts"),
    )


def passing(statements: DataFrame) -> DataFrame:
    """namespace, name of what only statements make that leave nothing behind: tables of a session, which are no assets."""
    made = acts(statements).select("lasts", F.explode("made").alias("one"))
    by_name = made.groupBy("one").agg(F.max("lasts").alias("lasts")).where(~F.col("lasts"))
    return by_name.select("one.namespace", "one.name")


def datasets(daily: DataFrame, statements: DataFrame) -> DataFrame:
    """namespace, name of what a statement that succeeded read or wrote, but for the tables of a session. A misspelt name is none."""
    ran = daily.where(F.col("executions") > F.col("failures")).select(*KEY).distinct()
    touched = ran.join(acts(statements), list(KEY)).select(F.explode(F.concat("made", "asked")).alias("one"))
    return (
        touched.select("one.namespace", "one.name")
        .distinct()
        .join(passing(statements), ["namespace", "name"], "left_anti")
    )


_OUTPUTS: Final = (
    "array<struct<namespace:string,name:string,facets:struct<lifecycleStateChange:"
    "struct<lifecycleStateChange:string,previousIdentifier:struct<namespace:string,name:string>>>>>"
)


def dropped(daily: DataFrame, statements: DataFrame) -> DataFrame:
    """namespace, name, dropped_at: when a statement that succeeded dropped or renamed away a dataset last. It may have been made again since."""
    outputs = F.col("outputs")
    told = statements.where(outputs.contains('"DROP"') | outputs.contains('"RENAME"'))
    change = F.col("one.facets.lifecycleStateChange")
    own = F.struct(F.col("one.namespace").alias("namespace"), F.col("one.name").alias("name"))
    gone = F.when(change["lifecycleStateChange"] == "DROP", own).when(
        change["lifecycleStateChange"] == "RENAME", change["previousIdentifier"]
    )
    named = told.select(*KEY, F.explode(F.from_json("outputs", _OUTPUTS)).alias("one")).select(*KEY, gone.alias("gone"))
    ran = daily.where(F.col("executions") > F.col("failures")).select(*KEY, "last_at")
    return (
        ran.join(named.where(F.col("gone").isNotNull()), list(KEY))
        .groupBy("gone.namespace", "gone.name")
        .agg(F.max("last_at").alias("dropped_at"))
    )


def touches(daily: DataFrame, statements: DataFrame) -> DataFrame:
    """One row for each row of `daily` and dataset that its statement read or wrote, of executions that succeeded.

    Columns: day, namespace, name, act (read | write), kind (one of KINDS), asker (the kind of actor that ran it), lasts (the statement
    left something behind), nested (it is inside a function or a trigger), reader, runs, first_at, last_at. A row of `daily` whose every execution
    failed touched nothing. Of one in which some failed, the times are those of all. Rows put into a temporary table are no write.
    """
    ran = daily.where(F.col("executions") > F.col("failures")).join(acts(statements), list(KEY))
    kind = F.when(F.col("actor_kind").isin(*KINDS), F.col("actor_kind")).otherwise(F.lit(UNKNOWN))
    job = F.concat_ws("/", "job_namespace", "job_name")

    def tagged(column: str, act: str) -> Column:
        return F.transform(
            column,
            lambda one: F.struct(
                F.lit(act).alias("act"), one["namespace"].alias("namespace"), one["name"].alias("name")
            ),
        )

    written = F.when(F.col("lasts"), F.col("made")).otherwise(F.array().cast(DATASETS.simpleString()))
    every = F.concat(tagged("asked", READ), tagged("written", WRITE))
    return (
        ran.select(
            "day",
            F.when(F.col("lasts"), F.lit("pipeline")).otherwise(kind).alias("kind"),
            kind.alias("asker"),
            "lasts",
            F.col("tool").eqNullSafe(F.lit(NESTED)).alias("nested"),
            F.coalesce(
                F.when(F.col("lasts") & F.col("job_name").isNotNull(), job), F.col("actor"), F.lit(UNKNOWN)
            ).alias("reader"),
            (F.col("executions") - F.col("failures")).alias("runs"),
            "first_at",
            "last_at",
            "asked",
            written.alias("written"),
        )
        .select(
            *("day", "kind", "asker", "lasts", "nested", "reader", "runs", "first_at", "last_at"),
            F.explode(every).alias("touched"),
        )
        .select(
            "day",
            "touched.namespace",
            "touched.name",
            "touched.act",
            "kind",
            "asker",
            "lasts",
            "nested",
            "reader",
            "runs",
            "first_at",
            "last_at",
        )
    )
