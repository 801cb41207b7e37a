"""The statements that are jobs, and whether their runs came: recurring, ad hoc or one-off, by the history of each shape.

DAILY needs one column for it, `starts`: an array of 24 bigints, one for each hour of the UTC day, in which bit m says that a run began in minute m of
that hour. `starts("started_at")` is the aggregate to add to daily's. It is exact to the minute, a union is `bit_or`, and it takes the same
space for one execution and for a million.

`beats` defines a rhythm. Python runs once for each shape, over bits.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from headwater.model.moments import aware
from headwater.pipeline.query_log import beats
from headwater.pipeline.query_log.schema import RECURRENCE
from headwater.pipeline.query_log.touches import first_day, newest, until

HISTORY: Final = 400
"""Days that are looked at."""
NAMED: Final = 20
"""Newest missing and unexpected runs that are named; all are counted."""
_SHAPE: Final = ("namespace", "shape_id")
_HOURS: Final = 24
_SETTLED: Final = 7 * beats.DAY


def starts(at: str) -> Column:
    """The aggregate that makes DAILY's `starts` of the times in a column. Times that are null start nothing."""
    second = f"pmod(unix_seconds({at}), 86400)"
    bit = f"shiftleft(1L, cast(pmod({second}, 3600) / 60 as int))"
    hours = (
        f"coalesce(bit_or(case when cast({second} / 3600 as int) = {h} then {bit} end), 0L)" for h in range(_HOURS)
    )
    return F.expr(f"array({', '.join(hours)})")


def recurrence(daily: DataFrame, as_of: datetime | None = None, history: int = HISTORY) -> DataFrame:
    """RECURRENCE of every shape in the last `history` days. `as_of`: by default the newest time in the log.

    Every execution is a run, failed or not. class: `recurring`, it has a rhythm; `one_off`, all of it within 24 hours; `ad_hoc`, anything else.
    """
    at = as_of or newest(daily)
    if at is None:
        return daily.sparkSession.createDataFrame([], RECURRENCE.schema)
    rows = until(daily, at).where(F.col("shape_id").isNotNull() & (F.col("day") >= F.lit(first_day(at, history))))
    known = rows.groupBy(*_SHAPE).agg(
        F.sum("executions").alias("executions"), F.min("first_at").alias("first_at"), F.max("last_at").alias("last_at")
    )
    hour = (F.unix_date("day") * _HOURS + F.col("hour")).alias("hour")
    hours = (
        rows.select(*_SHAPE, "day", F.posexplode("starts").alias("hour", "bits"))
        .where(F.col("bits") != 0)
        .groupBy(*_SHAPE, hour)
        .agg(F.bit_or("bits").alias("bits"))
        .groupBy(*_SHAPE)
        .agg(F.collect_list(F.struct("hour", "bits")).alias("hours"))
    )
    minute = int(aware(at).timestamp()) // 60
    shapes = (
        known.join(hours, list(_SHAPE), "left")
        .select(
            *_SHAPE,
            "executions",
            F.unix_micros("first_at").alias("first_us"),
            F.unix_micros("last_at").alias("last_us"),
            "hours",
        )
        .mapInArrow(_judge(minute), _JUDGED)
    )
    times = {
        "first_at": F.timestamp_micros("first_us"),
        "last_at": F.timestamp_micros("last_us"),
        "expected_next_at": F.timestamp_seconds(F.col("next") * 60),
        "missing_at": F.transform("missing_minutes", lambda one: F.timestamp_seconds(one * 60)),
        "unexpected_at": F.transform("unexpected_minutes", lambda one: F.timestamp_seconds(one * 60)),
    }
    return shapes.select(*(times[name].alias(name) if name in times else F.col(name) for name in RECURRENCE.columns()))


_JUDGED: Final = (
    "namespace string, shape_id string, class string, executions bigint, period_seconds bigint, runs_per_period bigint, first_us bigint,"
    " last_us bigint, next bigint, missing bigint, unexpected bigint, missing_minutes array<bigint>, unexpected_minutes array<bigint>,"
    " retired boolean, confidence double"
)


def _judge(as_of: int) -> Any:
    """The function for mapInArrow, which takes nothing with it but the minute."""

    def judge(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            rows = [judged(as_of, *row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]
            yield pyarrow.RecordBatch.from_pylist(rows, schema=_arrow(pyarrow))

    return judge


def _arrow(pyarrow: Any) -> Any:
    kinds = {
        "string": pyarrow.string(),
        "bigint": pyarrow.int64(),
        "double": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "array<bigint>": pyarrow.list_(pyarrow.int64()),
    }
    return pyarrow.schema([(name, kinds[kind]) for name, kind in (one.split() for one in _JUDGED.split(", "))])


def judged(
    as_of: int,
    namespace: str,
    shape_id: str,
    executions: int,
    first_us: int,
    last_us: int,
    hours: list[dict[str, int]] | None,
) -> dict[str, object]:
    """One shape's row, times as minutes. `hours`: the hours since 1970 in which it ran and the bits of their minutes, in any order."""
    runs = _minutes(hours or [])
    found = beats.rhythm(runs, executions, as_of)
    once = last_us - first_us < beats.DAY * 60_000_000
    return {
        "namespace": namespace,
        "shape_id": shape_id,
        "class": "recurring" if found.period else "one_off" if once else "ad_hoc",
        "executions": executions,
        "period_seconds": found.period * 60 if found.period else None,
        "runs_per_period": found.slots if found.period else None,
        "first_us": first_us,
        "last_us": last_us,
        "next": found.next,
        "missing": len(found.missing),
        "unexpected": len(found.unexpected),
        "missing_minutes": list(found.missing[-NAMED:]),
        "unexpected_minutes": list(found.unexpected[-NAMED:]),
        "retired": found.retired,
        "confidence": _confidence(found, executions, once, as_of - last_us // 60_000_000),
    }


def _minutes(hours: list[dict[str, int]]) -> list[int]:
    runs: list[int] = []
    for one in sorted(hours, key=lambda one: one["hour"]):
        bits, base = one["bits"], one["hour"] * 60
        while bits:
            lowest = bits & -bits
            runs.append(base + lowest.bit_length() - 1)
            bits ^= lowest
    return runs


def _confidence(found: beats.Rhythm, executions: int, once: bool, silence: int) -> float:
    """Recurring: share that keeps the rhythm × share that came × n/(n+1) of n runs. One-off: the longer silent the surer. Ad hoc: the more runs."""
    if found.period:
        came = found.judged / (found.judged + len(found.missing))
        return round(found.kept * came * found.judged / (found.judged + 1), 3)
    return round(silence / (silence + _SETTLED), 3) if once else round(executions / (executions + 4), 3)
