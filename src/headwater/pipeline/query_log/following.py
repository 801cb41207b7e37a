"""The stage that follows temporary tables through sessions (`sessions`): which days, and what is read again for them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.pipeline.query_log import sessions
from headwater.pipeline.query_log import statements as statement
from headwater.pipeline.query_log.batch import Batch
from headwater.pipeline.query_log.quarantine import quarantine
from headwater.pipeline.query_log.reading import SLICES, slices
from headwater.pipeline.query_log.schema import EXECUTIONS, SHAPES, STATEMENTS
from headwater.pipeline.stages import Desk

SESSIONS: Final = "sessions"
TEMPORARY: Final = "temporary"
"""In the state: whether a statement makes or names a temporary table."""


def has_sessions(desk: Desk) -> bool:
    """Return whether a statement makes or names a temporary table, so that sessions are followed."""
    return bool(desk.state.get(TEMPORARY))


def quarantined(desk: Desk, parsed: DataFrame) -> None:
    """Quarantine what could not be read, and note whether temporary tables are there to be followed."""
    told = parsed.agg(
        F.max(F.col("code").isNotNull()).alias("bad"),
        F.max(sessions.makes_temporary(F.col("names"))).alias("temporary"),
    ).first()
    assert told is not None  # an aggregate has a row
    if told["temporary"]:
        desk.state[TEMPORARY] = True
    if told["bad"]:
        batch = Batch.of(desk.state)
        assert batch is not None  # a stage of a batch
        batch.quarantined += quarantine(desk, statement.bad(parsed))
        batch.put(desk.state)


def following(batch: Batch, schemas: statement.Schemas | None) -> Callable[[Desk], None]:
    """Temporary tables are followed through the sessions of the batch's days, and of the days after them that are there already."""

    def follow_sessions(desk: Desk) -> None:
        present = set(desk.days(EXECUTIONS))
        touched = set(batch.touched())
        days = sorted(touched | ({day + timedelta(days=1) for day in touched} & present))
        context = sorted({*days, *(day - timedelta(days=1) for day in days)})
        known, shapes = desk.read(STATEMENTS), desk.read(SHAPES)
        executions = desk.read(EXECUTIONS, days)
        found = sessions.followed(desk.read(EXECUTIONS, context), known, 1 if desk.alone else SLICES).persist()
        try:
            now = sessions.placed(executions, found)
            desk.replace(EXECUTIONS, now, days)
            more = sessions.wanted(desk.written(EXECUTIONS, days), found, known).persist()
            parsed = statement.parsed(more, shapes, schemas, slices=slices(more.count()), sessions=True).persist()
            try:
                desk.replace(STATEMENTS, statement.statements(known, parsed))
                quarantined(desk, parsed)
            finally:
                parsed.unpersist()
                more.unpersist()
        finally:
            found.unpersist()
        if now_touched := Batch.of(desk.state):
            for day in days:
                now_touched.days.setdefault(str(day), 0)
            now_touched.put(desk.state)

    return follow_sessions
