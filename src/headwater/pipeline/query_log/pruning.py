"""The unneeded datasets, the order in which they can be removed, the money that saves, and how sure it is.

A dataset is needed if a person, a dashboard, a service or an unknown actor read it in the window, or if it feeds a needed one; a pipeline's reading
needs nothing, for its output must be needed itself. All else may be deleted, also tables that only feed each other. A definition that stands
(a view, a dynamic table) feeds as long as the log knows it; any other statement feeds when it ran in the window. A dataset the log cannot see into (a
bucket, another system) is always needed, and so is what it feeds on.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.pipeline.query_log.cost import charges, in_window, monthly
from headwater.pipeline.query_log.peel import peel
from headwater.pipeline.query_log.prices import MONEY, Prices
from headwater.pipeline.query_log.schema import PRUNING
from headwater.pipeline.query_log.schema_moves import PART
from headwater.pipeline.query_log.sources.definitions import DEFINITION
from headwater.pipeline.query_log.touches import (
    KEY,
    READ,
    WRITE,
    acts,
    datasets,
    dropped,
    first_day,
    newest,
    passing,
    touches,
    until,
)

STANDING: Final = "VIEW|DYNAMIC|STREAM|PIPE|TASK"
"""Kinds of statements that go on making one table from others by themselves."""
MONTH: Final = 30
WINDOW: Final = 90
_DATASET: Final = ("namespace", "name")


@dataclass(frozen=True, slots=True)
class Doubts:
    """`window`: days in which a read or a write counts; a log of as many days is full evidence. `young`: days after which a dataset has been seen
    long enough. The factors by which each doubt lowers confidence."""

    window: int = WINDOW
    young: int = 30
    read_by_pipeline: float = 0.5
    made_by_hand: float = 0.8
    never_written: float = 0.7


def pruning(
    daily: DataFrame,
    statements: DataFrame,
    as_of: datetime | None = None,
    doubts: Doubts | None = None,
    storage: DataFrame | None = None,
    price_list: Prices | None = None,
    kept: DataFrame | None = None,
    changes: DataFrame | None = None,
) -> DataFrame:
    """PRUNING: a row for each dataset that may be deleted. `as_of`: by default the newest time in the log. `kept` (namespace, name): needed even if
    unused. `storage` (namespace, name, bytes), priced by `price_list`: the cost of keeping. Temporary tables are no advice. `changes`
    (OBJECT_CHANGES): a table that was renamed or swapped feeds the one that has its rows now, and a partition feeds its table.

    reason: `unread`, it feeds nothing; `feeds_unread`, only what goes before it; `loop`, only what goes with it. money_month: what statements cost
    that are charged to it (see `cost`) in 30 days of the window, and keeping it; null when neither is known. Statements of a shape that ran on
    one day only are no monthly cost: what they cost is `money_once` in the evidence.

    confidence, the product: days of log / window · days since first seen / young · share of the namespace's executions that cannot hide a read (their
    text is known, they were understood with every name placed, and they run nothing else, as a CALL does), each at most 1 · 1 - `rare`, the share of
    the namespace's datasets with readers that rested for more than half of the log between two reads (where those are, the next reader may come yet)
    · `read_by_pipeline` if a pipeline read it and wrote nothing · `made_by_hand` if a person wrote it · `never_written` if the log shows no write;
    and no surer than what it feeds.

    evidence: JSON of first_seen_at, last_read_at and last_read_by (not counting what read it to write), last_written_at, writes, pipeline_reads,
    feeds, feeds_first, money_writes, money_once, money_storage, log_days, hidden, rare, vouches_days (the days of the log since the dataset was first
    seen: a reader that comes at least that often would have been seen).

    What a function or a trigger of PostgreSQL reads or writes is needed: the function would fail, and with it the statement that calls it.
    A dataset that was dropped (or renamed) and not touched since is gone: no advice, and no need of its inputs.
    """
    knobs = doubts or Doubts()
    at = as_of or newest(daily)
    if at is None:
        return daily.sparkSession.createDataFrame([], PRUNING.schema)
    rows = until(daily, at)
    since = F.lit(first_day(at, knobs.window))
    links = _links(rows, statements, since)
    if changes is not None:
        links = links.unionByName(_moved(changes)).distinct()
    links = links.localCheckpoint()
    seen = _seen(rows, statements, since, links)
    # A definition says nothing of how far back the log goes: it is as old as its view.
    logged = F.min(F.when(~F.col("tool").eqNullSafe(F.lit(DEFINITION)), F.col("day")))
    days = F.datediff(F.lit(first_day(at, 1)), logged) + 1
    log = rows.agg(F.least(F.lit(knobs.window), F.coalesce(days, F.lit(1))).alias("log_days"))
    doubted = _doubted(seen, rows, statements, since, log, at, knobs)
    nodes = _used(doubted, rows, kept, since).withColumn("id", _id(*_DATASET)).localCheckpoint()
    edges = links.select(
        *(
            _id(*(f"{end}.{name}" for name in _DATASET)).alias(told)
            for end, told in (("from", "source"), ("to", "target"))
        )
    )
    found = peel(nodes, edges)
    gone = found.withColumnRenamed("confidence", "sure").join(nodes.where(~F.col("passing")), "id")
    priced = _priced(gone, rows, at, knobs.window, statements, storage, price_list)
    reason = F.when(F.col("looped"), "loop").when(F.col("feeds") > 0, "feeds_unread").otherwise("unread")
    evidence = F.to_json(F.struct(*_EVIDENCE))
    told = priced.withColumns({"reason": reason, "evidence": evidence, "confidence": F.round("sure", 3)})
    return told.selectExpr(*PRUNING.typed())


def _id(*parts: str) -> Column:
    # Two of a million names share one with a chance of one to forty million.
    return F.xxhash64(*parts)


_EVIDENCE: Final = (
    *(
        "first_seen_at",
        "last_read_at",
        "last_read_by",
        "last_written_at",
        "writes",
        "pipeline_reads",
        "feeds",
        "feeds_first",
    ),
    *("money_writes", "money_once", "money_storage", "log_days", "hidden", "rare", "vouches_days"),
)


def _links(rows: DataFrame, statements: DataFrame, since: Column) -> DataFrame:
    """Return the datasets that feed others, as from and to, each a struct of namespace and name; temporary tables too, for the flows
    through them."""
    ran = rows.where(F.col("executions") > F.col("failures")).groupBy(*KEY).agg(F.max("day").alias("day"))
    feeding = ran.join(acts(statements), list(KEY)).where((F.col("day") >= since) | F.upper("kind").rlike(STANDING))
    return (
        feeding.select(F.explode("asked").alias("from"), "made")
        .select("from", F.explode("made").alias("to"))
        .distinct()
    )


def _moved(changes: DataFrame) -> DataFrame:
    """From and to, as `_links`: where the rows of a table are read under another name."""
    moved = changes.where(F.col("action").isin("renamed_to", "swapped", PART) & F.col("other").isNotNull())
    ends = (
        F.struct("namespace", F.col(name).alias("name")).alias(end) for name, end in (("name", "from"), ("other", "to"))
    )
    return moved.select(*ends)


def _seen(rows: DataFrame, statements: DataFrame, since: Column, links: DataFrame) -> DataFrame:
    """Every dataset, and what is known of its reads and writes. `passing`: only ever a temporary table, or gone."""
    looked = (F.col("act") == READ) & ~F.col("lasts")
    recent = F.col("day") >= since
    written = F.col("act") == WRITE
    touched = (
        touches(rows, statements)
        .groupBy(*_DATASET)
        .agg(
            F.min("first_at").alias("first_seen_at"),
            F.max(F.when(looked, F.struct("last_at", "asker"))).alias("looked"),
            F.max(F.when(written, F.col("last_at"))).alias("last_written_at"),
            F.max("last_at").alias("last_touched_at"),
            F.max(F.when(looked & recent & (F.col("asker") != "pipeline"), True).otherwise(False)).alias("read"),
            F.max(F.when(F.col("nested") & recent, True).otherwise(False)).alias("in_function"),
            F.coalesce(F.sum(F.when(written & recent, F.col("runs"))), F.lit(0)).alias("writes"),
            F.coalesce(F.sum(F.when(looked & recent & (F.col("asker") == "pipeline"), F.col("runs"))), F.lit(0)).alias(
                "pipeline_reads"
            ),
            F.max(F.when(written & recent & (F.col("asker") == "person"), True).otherwise(False)).alias("by_hand"),
        )
    )
    made = passing(statements).withColumn("passing", F.lit(True))
    fed = links.groupBy("from").agg(F.count(F.lit(1)).alias("feeds"), F.min("to.name").alias("feeds_first"))
    feeding = fed.select("from.namespace", "from.name", "feeds", "feeds_first")
    return (
        touched.join(made, list(_DATASET), "full")
        .join(feeding, list(_DATASET), "left")
        .join(dropped(rows, statements), list(_DATASET), "left")
        .withColumn("gone", F.coalesce(F.col("dropped_at") >= F.col("last_touched_at"), F.lit(False)))
        .withColumns(
            {
                "passing": F.coalesce("passing", F.lit(False)) | F.col("gone"),
                "feeds": F.coalesce("feeds", F.lit(0)),
                "read": F.coalesce(F.col("read") | F.col("in_function"), F.lit(False)) & ~F.col("gone"),
            }
        )
        .withColumns({"last_read_at": F.col("looked.last_at"), "last_read_by": F.col("looked.asker")})
        .drop("looked", "in_function", "gone", "dropped_at", "last_touched_at")
    )


def _used(seen: DataFrame, rows: DataFrame, kept: DataFrame | None, since: Column) -> DataFrame:
    """Add `used`: read, or kept, or out of the log's sight."""
    inside = F.broadcast(rows.select("namespace").distinct().withColumn("inside", F.lit(True)))
    # A stage is of the warehouse, and its files are not.
    outside = F.col("inside").isNull() | F.col("name").startswith("@")
    found = seen.join(inside, "namespace", "left").withColumn("used", F.col("read") | outside)
    if kept is not None:
        wanted = kept.select(*_DATASET).distinct().withColumn("wanted", F.lit(True))
        found = (
            found.join(wanted, list(_DATASET), "left")
            .withColumn("used", F.col("used") | F.col("wanted").isNotNull())
            .drop("wanted")
        )
    return found.drop("inside", "read")


def _doubted(
    seen: DataFrame, rows: DataFrame, statements: DataFrame, since: Column, log: DataFrame, at: datetime, knobs: Doubts
) -> DataFrame:
    """Add `confidence`, `hidden` (share of the namespace's executions that might hide a read) and `log_days`."""
    worked = F.col("executions") - F.col("failures")
    # A CALL, or a REFRESH of a view that is older than the log, reads what its own text does not name.
    opaque = (F.col("level") == "partial") & (F.size(F.coalesce("reads", F.array())) == 0)
    placed = (F.col("level") != "nothing") & (F.coalesce("unresolved", F.lit(0).cast("long")) == 0)
    understood = statements.select(*KEY, (placed & ~opaque).alias("understood"))
    by_statement = rows.where((F.col("day") >= since) & (worked > 0)).groupBy(*KEY).agg(F.sum(worked).alias("runs"))
    open_runs = F.sum(F.when(F.coalesce("understood", F.lit(False)), 0).otherwise(F.col("runs")))
    hiding = (
        by_statement.join(understood, list(KEY), "left")
        .groupBy("namespace")
        .agg(F.round(open_runs / F.sum("runs"), 6).alias("hidden"))
    )
    known = seen.join(F.broadcast(hiding), "namespace", "left").join(F.broadcast(log), how="cross")
    known = known.join(F.broadcast(_resting(rows, statements, since, log)), "namespace", "left")
    age = F.datediff(F.lit(first_day(at, 1)), F.to_date("first_seen_at")) + 1
    factors = (
        F.col("log_days") / knobs.window,
        F.least(F.lit(1.0), F.coalesce(age, F.lit(1)) / knobs.young),
        1 - F.coalesce("hidden", F.lit(0.0)),
        1 - F.coalesce("rare", F.lit(0.0)),
        F.when(F.col("pipeline_reads") > 0, knobs.read_by_pipeline).otherwise(1.0),
        F.when(F.col("by_hand"), knobs.made_by_hand).otherwise(1.0),
        F.when(F.col("last_written_at").isNull(), knobs.never_written).otherwise(1.0),
    )
    confidence = F.lit(1.0)
    for factor in factors:
        confidence = confidence * factor
    vouches = F.least(F.col("log_days"), F.coalesce(age, F.col("log_days")))
    return known.withColumns({"confidence": confidence, "vouches_days": vouches})


def _resting(rows: DataFrame, statements: DataFrame, since: Column, log: DataFrame) -> DataFrame:
    """namespace, rare: the share of datasets with readers without any read for more than half of the log, between two reads."""
    looked = touches(rows.where(F.col("day") >= since), statements).where((F.col("act") == READ) & ~F.col("lasts"))
    days = looked.select(*_DATASET, "day").distinct()
    rest = F.datediff("day", F.lag("day").over(Window.partitionBy(*_DATASET).orderBy("day")))
    longest = days.withColumn("rest", rest).groupBy(*_DATASET).agg(F.max("rest").alias("rest"))
    rested = F.avg(F.when(F.col("rest") * 2 > F.col("log_days"), 1.0).otherwise(0.0))
    return longest.join(F.broadcast(log), how="cross").groupBy("namespace").agg(F.round(rested, 6).alias("rare"))


def _priced(
    gone: DataFrame,
    rows: DataFrame,
    at: datetime,
    window: int,
    statements: DataFrame,
    storage: DataFrame | None,
    price_list: Prices | None,
) -> DataFrame:
    known = datasets(rows, statements).localCheckpoint()
    days = rows.groupBy(*KEY).agg(F.count_distinct("day").alias("days"))
    recent = in_window(rows, at, window)
    charged, repeated = (
        charges(some, statements, known).groupBy(*_DATASET).agg(F.try_sum("money").try_cast(MONEY).alias(name))
        for name, some in (
            ("charged", recent),
            ("repeated", recent.join(days.where(F.col("days") > 1).select(*KEY), list(KEY), "left_semi")),
        )
    )
    none = F.lit(0).cast(MONEY)
    once = (F.col("charged") - F.coalesce("repeated", none)).try_cast(MONEY)
    writes = (F.col("repeated") * F.lit(MONTH) / F.col("log_days").cast("decimal(5,0)")).try_cast(MONEY)
    priced = (
        gone.join(charged, list(_DATASET), "left")
        .join(repeated, list(_DATASET), "left")
        .withColumns({"money_writes": writes, "money_once": F.when(once > 0, once)})
    )
    if storage is not None and price_list is not None:
        keeping = monthly(storage, price_list).withColumnRenamed("money", "money_storage")
        priced = priced.join(keeping, list(_DATASET), "left")
    else:
        priced = priced.withColumn("money_storage", F.lit(None).cast(MONEY))
    both = (F.coalesce("money_writes", none) + F.coalesce("money_storage", none)).try_cast(MONEY)
    is_known = F.col("money_writes").isNotNull() | F.col("money_storage").isNotNull()
    return priced.withColumn("money_month", F.when(is_known, both))
