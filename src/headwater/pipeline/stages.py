"""A stage: tables in, tables out, one change of the store. It reads and writes what it declares and nothing else.

The work of a stage and the note that it is done become visible in the same commit, so after a crash at any moment the stages that
count as done are exactly those whose tables are there.
"""

import datetime as dt
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import HeadwaterError, StageFailed
from headwater.pipeline.tables import Change, Consumed, Store, Table


@dataclass(frozen=True, slots=True)
class Stage:
    """`work` is given a desk and does all its reading and writing there. `days`: those that it reads of partitioned tables (None: all); `more`: bytes
    that it reads besides tables; None: it is not known how many, so the stage never counts as small."""

    name: str
    reads: tuple[Table, ...]
    writes: tuple[Table, ...]
    work: Callable[["Desk"], None]
    days: Collection[dt.date] | None = None
    more: int | None = None


class Desk:
    """The tables that a stage declares, as they were before it began, and the state that is committed with it."""

    def __init__(self, stage: Stage, store: Store, change: Change, *, alone: bool) -> None:
        self.alone = alone
        """All of it is one task's, so nothing need be counted to be spread."""
        self._stage = stage
        self._store = store
        self._change = change

    @property
    def spark(self) -> SparkSession:
        return self._store.spark

    @property
    def state(self) -> dict[str, Any]:
        """Return what will be the store's state. JSON-ready values only."""
        return self._change.state

    def days(self, table: Table) -> list[dt.date]:
        return self._store.days(self._readable(table))

    def read(self, table: Table, days: Collection[dt.date] | None = None) -> DataFrame:
        return self._store.read(self._readable(table), days)

    def replace(self, table: Table, rows: DataFrame, days: Collection[dt.date] | None = None) -> None:
        self._change.replace(self._writable(table), rows, days)

    def append(self, table: Table, rows: DataFrame) -> None:
        self._change.append(self._writable(table), rows)

    def written(self, table: Table, days: Collection[dt.date] | None = None) -> DataFrame:
        """The table as it will be: with what this stage has written of it."""
        return self._change.read(self._writable(table), days)

    def consume(self, entries: Iterable[Consumed]) -> None:
        self._change.consume(entries)

    def _readable(self, table: Table) -> Table:
        if table not in self._stage.reads:
            raise ValueError(f"stage {self._stage.name} does not declare that it reads {table.name}")
        return table

    def _writable(self, table: Table) -> Table:
        if table not in self._stage.writes:
            raise ValueError(f"stage {self._stage.name} does not declare that it writes {table.name}")
        return table


def run(store: Store, stage: Stage, done: Callable[[dict[str, Any]], None]) -> float:
    """Do the stage and commit it; the seconds it took. `done` notes in the state, just before the commit, that it is done.

    Raises StageFailed when Spark could not do it: nothing of it is kept, and it can be done again.
    """
    began = time.monotonic()
    try:
        with store.in_one_task_if_small(stage.reads, stage.days, stage.more) as alone, store.change() as change:
            stage.work(Desk(stage, store, change, alone=alone))
            done(change.state)
    except HeadwaterError:
        raise
    except (ConnectionError, PySparkException, Py4JError) as error:
        why = f"Spark is gone ({error})" if gone(error) else cause(error)
        raise StageFailed(f"stage {stage.name} did not end: {why}", stage=stage.name) from error
    return time.monotonic() - began


def gone(error: Exception) -> bool:
    """Return whether the JVM is gone (killed, out of memory): a closed socket, or a question without an answer. Where py4j had sent the
    question and could
    not read the answer it raises its plain error, without the trace that every answer has."""
    plain = type(error) is Py4JError and "Trace:" not in str(error)
    return plain or isinstance(error, (ConnectionError, Py4JNetworkError))


def cause(error: Exception) -> str:
    """The first meaningful line: of the final exception of Spark, not of the stack above it. For a Python worker, its exception."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    _, _, trace = str(error).partition("Traceback (most recent call last):\n")
    if own := next((line for line in trace.splitlines() if line.strip() and not line.startswith(" ")), ""):
        return own.strip()[:500]
    causes = [line for line in lines if line.startswith("Caused by:")]
    line = causes[-1] if causes else next((line for line in lines if not line.startswith("An error occurred")), "")
    return (line or type(error).__name__)[:500]
