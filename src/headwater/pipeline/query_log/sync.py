"""`headwater sync query-log`: turn files into published lineage, stage by stage, from the point where the last call stopped.

A sync first finishes the batch of an interrupted one. Then it imports the files that are not in the ledger, batch by batch, and publishes their runs,
which make the graph. Last it computes and publishes the sums over all days. Each stage is one commit. Repeating it, after
success or a crash at any point, gives the same tables.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Literal, NamedTuple

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater import __version__
from headwater.client.recording import Step
from headwater.client.step import step
from headwater.errors import ServerUnavailable, UnreadableContent
from headwater.pipeline.folder import InputFile, folder, inputs
from headwater.pipeline.query_log.batch import Asked, Batch, moment, unconsumed, windows
from headwater.pipeline.query_log.following import SESSIONS, TEMPORARY
from headwater.pipeline.query_log.open_runs import abort_killed_runs, noted
from headwater.pipeline.query_log.publish import Published
from headwater.pipeline.query_log.schema import EXECUTIONS
from headwater.pipeline.query_log.sources import source
from headwater.pipeline.query_log.stages import (
    BEHIND,
    DECLARED,
    LAND,
    PRICED,
    RUNNABLE,
    UNPUBLISHED,
    WATERMARKS,
    WHO_VERSION,
    Settings,
    batch_stages,
    done,
    final_stages,
    landing,
    redoing,
    repricing,
    wants_all_files,
)
from headwater.pipeline.query_log.upgrade import upgrade
from headwater.pipeline.stages import Stage, run
from headwater.pipeline.tables import Store

JOB = "query-log"
PUBLISH_RUNS, PUBLISH_MEASURES = "publish runs", "publish measures"
FIRST_BYTES = 8 << 20
"""Bytes of files that the first batch of a store takes in."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a sync. Reported when a stage `begins` and, after its commit, when it `ended`. Stages after all batches have batch
    0."""

    what: Literal["begins", "ended"]
    stage: str
    batch: int = 0
    batches: int = 0
    files: int = 0
    rows: int = 0
    seconds: float = 0.0


class Synced(msgspec.Struct, kw_only=True):
    """The outcome of a sync. `rows` are as landed, duplicates counted; `stages` are seconds. Counts are of this call, not of the store.

    `records`: of these, `rows` were understood, `skipped` tell of no execution (a line about a connection, another entry of an audit log), `outside`
    lie past the time that was asked for, and the rest could not be used. `reasons`: how many, by the code of `quarantine`, were unusable or lost
    their text.

    `watermark`: the newest start of a query of this source; `lag_seconds`: how long before the end of the sync that was."""

    source: str
    store: str
    files: int = 0
    files_known: int = 0
    batches: int = 0
    resumed: bool = False
    records: int = 0
    rows: int = 0
    skipped: int = 0
    outside: int = 0
    reasons: dict[str, int] = {}
    quarantined: int = 0
    days: int = 0
    published: Published | None = None
    unpublished_days: int = 0
    watermark: dt.datetime | None = None
    lag_seconds: float | None = None
    stages: dict[str, float] = {}
    seconds: float = 0.0


class Publisher(NamedTuple):
    """`runs`: of a store, those of the days that were not published yet. `measures`: what was summed over all days."""

    runs: Callable[[Store, Sequence[dt.date]], Published]
    measures: Callable[[Store], Published]


def sync(
    spark: SparkSession,
    path: str,
    asked: Asked,
    settings: Settings,
    publisher: Publisher | None = None,
    show: Callable[[Progress], None] = lambda _: None,
    recorded: bool = False,
) -> Synced:
    """Import the requested files, and the rest of an interrupted sync, into the store at `path`; publish them if there is a publisher.

    `recorded`: the client (`headwater.step`) reports the sync and its stages as runs.

    NotFound: a glob without files. InvalidQuestion: an unknown source, files that are no such log. UnreadableContent: new files of which no
    record was understood; they count as read. StageFailed, StoreChanged: call again, what was
    committed stays. An exception out of `show` ends the sync as a crash would, and harms nothing.
    """
    began = time.monotonic()
    source(asked.source)  # refuse an unknown source before any work
    work = _Sync(Store(spark, path, engine=__version__), asked, settings, show, recorded)
    answer = work.answer
    work.store.sweep()
    with closing(work), work.recorded(JOB) as told:
        if told is not None:
            told.detail("source", asked.source)  # of one that fails too
        upgrade(work.store)
        work.reprice()
        work.redo()
        work.end_what_was_left()
        work.take_in(inputs(spark, asked.inputs), publisher)
        work.roll_up(until=RUNNABLE)
        if publisher is not None:
            work.publish_runs(publisher)
        work.roll_up()
        if publisher is not None:
            work.publish_measures(publisher)
        work.store.sweep()
        work.sum_up(time.monotonic() - began, told)
        if answer.files and not answer.rows and not answer.outside:
            raise UnreadableContent(
                f"nothing of {_counted(answer.files, 'file')} was understood as a log of {asked.source}: of "
                f"{_counted(answer.records, 'record')} none can be used{by_reason(answer)}. The table `quarantine` has the rows. "
                "See docs/reference/query-log-sources.md for how to export it",
                source=asked.source,
            )
    return answer


def by_reason(answer: Synced) -> str:
    """` (2 unfinished, 1 no_time, 40 skipped)`: the reasons by which records were not used; empty if all were."""
    told = [f"{rows:,} {code}" for code, rows in sorted(answer.reasons.items(), key=lambda one: (-one[1], one[0]))]
    told += [f"{answer.skipped:,} of no execution"] if answer.skipped else []
    return f" ({', '.join(told)})" if told else ""


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


class _Sync:
    def __init__(
        self, store: Store, asked: Asked, settings: Settings, show: Callable[[Progress], None], recorded: bool
    ) -> None:
        self.store = store
        self._recorded = recorded
        self._asked = asked
        self._settings = settings
        self._show = show
        self._days: set[dt.date] = set()
        self._folder = folder(store.spark, store.path)
        if recorded:
            abort_killed_runs(self._folder, store.path)
        self.answer = Synced(source=asked.source, store=store.path)

    @contextmanager
    def recorded(self, job: str, inputs: Sequence[str] = (), outputs: Sequence[str] = ()) -> Iterator[Step | None]:
        """A run of its own around the block, if that is wanted."""
        if not self._recorded:
            yield None
            return
        with step(job, version=__version__, inputs=inputs) as told, noted(self._folder, self.store.path, told):
            yield told
            for place in outputs:
                told.output(place)

    def close(self) -> None:
        """Nothing of the store stays in Spark's memory. If Spark is gone, nothing does."""
        with suppress(ConnectionError, Py4JError, PySparkException):
            self.store.release()

    def sum_up(self, seconds: float, told: Step | None) -> None:
        """Put the outcome of this call into its answer, and into the details of its own run."""
        answer, state = self.answer, self.store.state
        answer.unpublished_days = len(state.get(UNPUBLISHED, []))
        if mark := state.get(WATERMARKS, {}).get(self._asked.source):
            answer.watermark = dt.datetime.fromisoformat(mark)
            answer.lag_seconds = round((dt.datetime.now(dt.UTC) - answer.watermark).total_seconds(), 3)
        answer.seconds = round(seconds, 3)
        if told is not None:
            for field, value in msgspec.to_builtins(answer).items():
                told.detail(field, value)

    def end_what_was_left(self) -> None:
        if batch := Batch.of(self.store.state):
            self.answer.resumed = True
            self._finish(batch)

    def take_in(self, files: Sequence[InputFile], publisher: Publisher | None = None) -> None:
        asked = self._asked
        new = unconsumed(files, self.store.consumed(), asked, self.store.state.get(WHO_VERSION, 0))
        self.answer.files_known = len(files) - len(new)
        most = len(new) if wants_all_files(asked.source) else asked.batch_files
        size = sum(file.size for file in new) if wants_all_files(asked.source) else asked.batch_bytes
        # The first sync publishes a graph of a little of the log before all of it is read.
        begins = publisher is not None and not wants_all_files(asked.source) and not self.store.days(EXECUTIONS)
        cut = list(windows(new, most, size, min(FIRST_BYTES, size) if begins else size))
        for number, window in enumerate(cut, 1):
            batch = Batch(
                number=number,
                batches=len(cut),
                source=asked.source,
                namespace=asked.namespace,
                files=[file.path for file in window],
                since=moment(asked.since),
                until=moment(asked.until),
            )
            self._do(landing(batch, window), batch)
            self._finish(batch)
            self.store.sweep()
            if publisher is not None and begins and number == 1 < len(cut):
                self.roll_up(until=RUNNABLE)
                # If the server is away now, it gets everything at the end.
                with suppress(ServerUnavailable):
                    self.publish_runs(publisher)

    def reprice(self) -> None:
        """Money is a function of executions and prices; other prices are other money, of all days."""
        priced, days = self._settings.priced(), self.store.days(EXECUTIONS)
        if not days or self.store.state.get(PRICED, "") == priced:
            return
        first, second = repricing(days, self._settings)
        self._do(first)
        self._do(second, noting={PRICED: priced})

    def redo(self) -> None:
        """Bring tables up to date with each changed part of the declarations, before any file is imported."""
        known = dict(self.store.state.get(DECLARED, {}))
        now = self._settings.declared(self.store.spark)
        for part in (*now, *(part for part in known if part not in now)):
            if now.get(part) != known.get(part):
                known[part] = now.get(part)
                self._do(redoing(part, self._settings), noting={DECLARED: {one: of for one, of in known.items() if of}})

    def roll_up(self, until: str | None = None) -> None:
        for stage in final_stages(self._settings):
            if stage.name in self.store.state.get(BEHIND, []):
                self._do(stage)
            if stage.name == until:
                return

    def publish_runs(self, publisher: Publisher) -> None:
        """Days are published when the server has them; a crash before that is noted sends them again, which changes nothing there."""
        days = [dt.date.fromisoformat(day) for day in self.store.state.get(UNPUBLISHED, [])]
        with self._published(PUBLISH_RUNS) as published:
            published(publisher.runs(self.store, days))
        if days:
            with self.store.change() as change:
                change.state[UNPUBLISHED] = []

    def publish_measures(self, publisher: Publisher) -> None:
        with self._published(PUBLISH_MEASURES) as published:
            published(publisher.measures(self.store))

    @contextmanager
    def _published(self, stage: str) -> Iterator[Callable[[Published], None]]:
        answer, began = self.answer, time.monotonic()
        told = Progress(what="begins", stage=stage, batches=answer.batches, rows=answer.rows)
        self._show(told)

        def add(sent: Published) -> None:
            answer.published = sent if answer.published is None else answer.published.and_(sent)

        yield add
        seconds = round(time.monotonic() - began, 3)
        answer.stages[stage] = round(answer.stages.get(stage, 0.0) + seconds, 3)
        self._show(msgspec.structs.replace(told, what="ended", seconds=seconds))

    def _finish(self, batch: Batch) -> None:
        """The stages of a landed batch that are not done yet."""
        for place in range(len(batch_stages(batch, self._settings))):
            stages = batch_stages(batch, self._settings)  # one may have found more days to do again
            stage = stages[place]
            if stage.name == SESSIONS and not self.store.state.get(TEMPORARY):
                continue
            if stage.name not in batch.done:
                noting = {PRICED: self._settings.priced()} if EXECUTIONS in stage.writes else None
                self._do(stage, batch, last=stage is stages[-1], noting=noting)
                batch = Batch.of(self.store.state) or batch
        answer = self.answer
        answer.batches += 1
        answer.files += len(batch.files)
        answer.records += batch.records
        answer.rows += batch.rows
        answer.outside += batch.outside
        answer.skipped += batch.skipped
        for code, rows in batch.reasons.items():
            answer.reasons[code] = answer.reasons.get(code, 0) + rows
        answer.quarantined += batch.quarantined
        self._days.update(batch.touched())
        answer.days = len(self._days)

    def _do(
        self, stage: Stage, batch: Batch | None = None, *, last: bool = False, noting: dict[str, Any] | None = None
    ) -> None:
        def report_progress(what: Literal["begins", "ended"], seconds: float = 0.0) -> None:
            answer = self.answer
            if batch is None:
                found = Progress(what=what, stage=stage.name, batches=answer.batches, rows=answer.rows, seconds=seconds)
            else:
                found = Progress(
                    what=what,
                    stage=stage.name,
                    batch=batch.number,
                    batches=batch.batches,
                    files=len(batch.files),
                    rows=batch.rows,
                    seconds=seconds,
                )
            self._show(found)

        def note(state: dict[str, Any]) -> None:
            done(stage.name, batch, last)(state)
            state.update(noting or {})

        report_progress("begins")
        read = [f"{self.store.path}/{table.name}" for table in stage.reads]
        if batch is not None and stage.name == LAND:
            read += sorted({file.rpartition("/")[0] for file in batch.files})
        with self.recorded(f"{JOB}.{stage.name}", read, [f"{self.store.path}/{table.name}" for table in stage.writes]):
            seconds = run(self.store, stage, note)
        self.answer.stages[stage.name] = round(self.answer.stages.get(stage.name, 0.0) + seconds, 3)
        report_progress("ended", round(seconds, 3))
