"""Turn Spark's executions into events, one after the other. Runs on its own thread; Spark and the user's code never wait for it.

A root execution that writes is a run: START when it begins (its inputs and output are known from the plan), COMPLETE or FAIL when it ends.
Executions inside it are part of it; those of a streaming query are its run's (`streams.py`). A query whose rows go to the driver is an input
of the runs' owner. Anything else is not reported.
Never raises: what cannot be read is skipped and logged once.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from headwater.capture.spark import commands, crossing, emission, evolution, recorded, snapshots, statistics
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import Write
from headwater.capture.spark.config import Config
from headwater.capture.spark.datasets import Catalog, Dataset, Leaves
from headwater.capture.spark.examination import CUTS, Examiner
from headwater.capture.spark.predictions import Model
from headwater.capture.spark.rdd_reads import RDDReads
from headwater.capture.spark.recorded import Recorded
from headwater.capture.spark.reported_saves import SaveNotes, Saves
from headwater.capture.spark.saves import whole_place
from headwater.capture.spark.statistics import Metrics, Statistics
from headwater.capture.spark.streams import Streams
from headwater.capture.spark.telling import Query, Teller
from headwater.client import event
from headwater.client.context import Parent

log = logging.getLogger("headwater")

START, END = "SparkListenerSQLExecutionStart", "SparkListenerSQLExecutionEnd"
# Actions whose rows go to the driver, by Spark's name for the execution.
READS = frozenset(
    {
        "collectToPython",
        "collectAsArrowToPython",
        "collect",
        "head",
        "count",
        "tail",
        "take",
        "toLocalIterator",
        "isEmpty",
        "reduce",
    }
)
_MOST_LIVE = 2000


class Execution(msgspec.Struct):
    """One SQL execution between its start and its end. `owner`: the execution it is part of, or -1. `wrote`: when the files of a table with a later
    commit were written.
    """

    id: int
    description: str
    started: int
    owner: int = -1
    wrote: int = 0
    stream: int = -1
    run_id: str = ""
    examined: bool = False
    announced: bool = False
    write: Write | None = None
    analysis: Analysis | None = None
    metrics: Metrics | None = None
    limits: list[str] = []  # of the executed plans that were read for counts
    sql: str = ""
    parent: Parent | None = None  # the step it ran in
    others: list["Execution"] = []  # the further writes of an INSERT into several tables
    place: int = 0  # among those writes
    several: int = 1

    @property
    def runs(self) -> list["Execution"]:
        """Return the writes that were reported as begun, each a run of its own."""
        return [one for one in (self, *self.others) if one.announced]


class Collector:
    """The executions of one SparkContext."""

    def __init__(
        self,
        jvm: Any,
        quiet: crossing.Quiet,
        application: Application,
        config: Config,
        details: dict[str, Any],
        wake: Callable[[], Any] = lambda: None,
    ) -> None:
        self.jvm = jvm
        self._quiet = quiet
        self._application_id = str(details.get("applicationId", ""))
        self._executions = quiet.adopt(crossing.java_class(jvm, "org.apache.spark.sql.execution.SQLExecution"))
        self.application = application
        self.config = config
        self.teller = Teller(application, config, details)
        self.streams = Streams(self.teller, config.stream_seconds)
        self.live: OrderedDict[int, Execution] = OrderedDict()
        self.examiner = Examiner(config, application.coverage)
        self.predictions = self.examiner.predictions
        self.notes = SaveNotes(wake)
        self.saves = Saves(application, self.teller, self.notes)
        self._said: set[str] = set()
        self.rdd_reads = RDDReads(application, self.predictions.inside)
        self._beat_at = time.monotonic()

    def take(self, kind: str, happening: Any, *, over: bool = False) -> bool:
        """Handle one event of Spark's listener bus, of the class `kind`. False if it was the end of the application.

        `over`: the execution's end follows at once, so its start is not examined.
        """
        try:
            if kind == START:
                self._start(happening, over)
            elif kind == END:
                self._end(happening)
            elif kind in self.streams.kinds:
                self.streams.take(kind, happening)
            elif kind == "SparkListenerApplicationEnd":
                if self._dies():
                    self.abort("the driver was stopped")
                self.end()
                return False
        except Exception as error:  # noqa: BLE001 - capture never harms its host
            self._say(f"an execution was not captured: {type(error).__name__}: {str(error)[:300]}")
            self.application.coverage.miss("a query", error)
        return True

    def end(self) -> None:
        """End the application and every running stream."""
        if self.application.ended:
            return
        self.saves.report()
        self._abort_queries("the program ended before the query did")
        self.streams.end(died=self.application.died() is not None)
        self.application.end()

    def abort(self, reason: str) -> None:
        """End everything that runs: the program was stopped from outside, or its JVM died. Asks the JVM nothing. Does nothing after an end."""
        if self.application.ended:
            return
        self._abort_queries(reason)
        self.streams.end(died=True, reason=reason)
        self.application.abort(reason)

    def took(self, jrdd: Any, started: int) -> None:
        """Note that the program took an RDD to the driver. On the program's thread."""
        self.rdd_reads.note(jrdd, started)

    def place(self, path: str) -> Dataset:
        """Return the dataset of a model's folder."""
        from pyspark import SparkContext

        return whole_place(SparkContext._active_spark_context, path, "model")

    def transformed(self, _thing: Any, model: Model | None, before: Any, after: Any) -> None:
        """Note that a model made the DataFrame `after` of `before`. On the program's thread."""
        if model is not None:
            self.predictions.note_prediction(model, before, after)

    def loaded(self, place: Dataset, started: int) -> None:
        """Report that the program loaded a model."""
        read = Analysis(Leaves({"model": [place]}))
        self.application.read_by_driver(read, self.application.owner_at(started))

    def _abort_queries(self, reason: str) -> None:
        self.saves.abort(reason)
        for execution in list(self.live.values()):
            for one in execution.runs if execution.stream < 0 else ():
                self.teller.tell("ABORT", self._query(one), datetime.now(UTC), facets=emission.error(reason, ""))
        self.live.clear()

    def beat(self, now: float) -> None:
        """Send the announced signs of life, if they are due. `now`: seconds of a clock that never goes back."""
        if not self.config.heartbeat or now - self._beat_at < self.config.heartbeat or self.application.ended:
            return
        self._beat_at = now
        self.application.beat()
        for execution in list(self.live.values()):
            for one in execution.runs if execution.stream < 0 else ():
                self.teller.beat(self._query(one))
        self.saves.beat()
        self.streams.beat()

    def _dies(self) -> bool:
        """Return whether the application ends because its JVM was stopped from outside (YARN, Kubernetes, `kill`), not by the program."""
        try:
            return bool(crossing.java_class(self.jvm, "org.apache.spark.util.ShutdownHookManager").inShutdown())
        except Exception:  # noqa: BLE001 - it no longer answers
            return True

    # --- the two ends of an execution

    def _start(self, happening: Any, over: bool) -> None:
        number = int(happening.executionId())
        execution = self._opened(number, happening)
        if execution.owner >= 0 or over:
            return
        jqe = happening.planned() if isinstance(happening, Recorded) else self._executions.getQueryExecution(number)
        if jqe is None:
            return  # Already over: its end carries the plan.
        if commands.writes(_kind(jqe)):
            self._examine(execution, jqe)
            self._announce(execution)

    def _opened(self, number: int, happening: Any) -> Execution:
        execution = Execution(number, str(happening.description()), int(happening.time()))
        root_id = int(crossing.text(happening.rootExecutionId()) or number)
        if "\nrunId = " in execution.description:
            execution.stream = root_id
        if root_id != number:
            root = self.live.get(root_id)
            if execution.stream < 0 or (root is not None and root.write is not None and not root.write.foreach_batch):
                execution.owner = root_id
            else:
                # Inside a micro-batch: a query of the user's function, or a part of a running one.
                inside = (e.id for e in self.live.values() if e.stream == root_id and e.id != root_id and e.owner < 0)
                execution.owner = next(inside, -1)
        if execution.stream < 0:  # a stream outlives the step that began it
            execution.parent = self.application.owner_at(execution.started)
        self.live[number] = execution
        while len(self.live) > _MOST_LIVE:
            self.live.popitem(last=False)
        return execution

    def _end(self, happening: Any) -> None:
        number = int(happening.executionId())
        execution = self.live.pop(number, None)
        if execution is None:
            return  # Began before the attachment.
        jqe = happening.qe()
        if execution.owner >= 0:
            self._absorb(self.live.get(execution.owner), jqe, happening)
            return
        failure = crossing.text(happening.errorMessage())
        named = crossing.text(happening.executionName())
        if not execution.examined:
            iterates = not named and execution.description.startswith(("toLocalIterator", "foreach"))
            reads = named in READS or iterates or _kind(jqe) in commands.READING
            if not (reads or named in CUTS or commands.writes(_kind(jqe))):
                return
            self._examine(execution, jqe, named)
        if execution.write is not None or execution.others:
            self._announce(execution)
            for one in execution.runs:
                self._close(one, happening, jqe, failure)
        elif execution.analysis is not None and not failure:
            if named in CUTS:
                found = execution.analysis
                self.examiner.cuts.remember(found.columns, found.rows, found.leaves)
            else:
                self._read(execution, execution.analysis)

    def _absorb(self, owner: Execution | None, jqe: Any, happening: Any) -> None:
        """Add the counts of an inner execution to its owner (CREATE TABLE AS runs its insert as one)."""
        if owner is None or (owner.examined and owner.write is None) or jqe is None:
            return
        if owner.write is not None and owner.write.target is not None and owner.write.target.layer == snapshots.DELTA:
            if crossing.text(happening.executionName()) == snapshots.WRITES:
                owner.wrote = int(happening.time())
            return
        metrics = self._counts(owner, jqe)
        if metrics.written.is_reported and not (owner.metrics and owner.metrics.written.is_reported):
            owner.metrics = metrics

    # --- what it does

    def _examine(self, execution: Execution, jqe: Any, action: str = "") -> None:
        execution.examined = True
        found = self.examiner.examine(jqe, action, execution.started)
        execution.write, execution.analysis, execution.sql = found.write, found.analysis, found.sql
        execution.several += len(found.others)
        for place, other in enumerate(found.others, 1):
            further = msgspec.structs.replace(execution, place=place, others=[], limits=[])
            further.write, further.analysis, further.sql = other.write, other.analysis, other.sql
            execution.others.append(further)

    # --- events

    def _announce(self, execution: Execution) -> None:
        for other in execution.others:
            self._announce(other)
        if execution.write is None or execution.announced:
            return
        execution.announced = True
        execution.run_id = event.run_id()
        if execution.stream >= 0:
            self.streams.begin(execution.description, execution.started, self._query(execution))
        else:
            self.teller.tell("START", self._query(execution), emission.moment(execution.started))

    def _counts(self, execution: Execution, jqe: Any) -> Metrics:
        """Read the counts of a plan that the execution or one inside it ran."""
        found = statistics.counts(jqe)
        if found.limit:
            execution.limits.append(found.limit)
        return found

    def _close(self, execution: Execution, happening: Any, jqe: Any, failure: str) -> None:
        metrics = execution.metrics
        facets: dict[str, Any] = {}
        if failure:
            facets = emission.error(failure, _stack(self.jvm, happening))
            metrics = None
        elif execution.write is not None and execution.write.query is not None:
            try:
                own = self._counts(execution, jqe)
                if execution.several > 1:
                    own.written = own.writes[execution.place] if len(own.writes) == execution.several else Statistics()
                metrics = own if own.written.is_reported or metrics is None else metrics
            except Exception as error:  # noqa: BLE001 - counts are worth less than the run
                self._say(f"no counts: {type(error).__name__}: {str(error)[:200]}")
        if execution.analysis is not None:
            for limit in execution.limits:
                execution.analysis.leaves.coverage.limit(limit)
        if not failure:
            metrics = self._left(execution, happening, jqe, metrics)
        query = self._query(execution)
        if execution.stream < 0:
            end = "FAIL" if failure else "COMPLETE"
            self.teller.tell(end, query, emission.moment(int(happening.time())), facets=facets, metrics=metrics)
        elif not failure:  # a failure that the user's function does not handle ends the stream, which reports it
            self.streams.wrote(execution.description, query, metrics)

    def _left(self, execution: Execution, happening: Any, jqe: Any, metrics: Metrics | None) -> Metrics | None:
        """Set the target's version, if it keeps versions. Return the metrics, from the table's commit if Spark reports none."""
        assert execution.write is not None
        try:
            catalog = Catalog(jqe)
            found = commands.committed_target(execution.write, catalog)
            if found is None:
                return metrics
            commits = (
                snapshots.of_delta(self.jvm, self._quiet, catalog.jsession, found.location)
                if found.layer == snapshots.DELTA
                else snapshots.of_iceberg(execution.write.jtable)
            )
            began = max(execution.started, execution.wrote)
            left = snapshots.left(commits, began, int(happening.time()), self._application_id)
            if left is None:
                return metrics
            execution.write.target = msgspec.structs.replace(found, version=left.version)
            if execution.write.jname is not None and found.layer == snapshots.DELTA and execution.analysis is not None:
                # saveAsTable over a table leaves it its columns, which no plan says: createOrReplace has the same one.
                fields = evolution.delta_fields_at(catalog.jsession, found.location, left.version)
                execution.analysis.fields = fields or execution.analysis.fields
                execution.write.is_schema_open = execution.write.is_schema_open and not fields
            if metrics is None or not metrics.written.is_reported:
                return Metrics(left.counts, metrics.scans if metrics else [])
        except Exception as error:  # noqa: BLE001 - a version is worth less than the run
            self._say(f"no version: {type(error).__name__}: {str(error)[:200]}")
        return metrics

    def _query(self, execution: Execution) -> Query:
        assert execution.write is not None
        spark = {"executionId": execution.id, "description": execution.description[:500]}
        return Query(execution.run_id, execution.write, execution.analysis, execution.sql, execution.parent, spark)

    def _read(self, execution: Execution, found: Analysis) -> None:
        if not found.inputs:
            self.application.coverage.add(found.leaves.coverage)
            return
        self.application.coverage.add(found.leaves.coverage)
        self.application.read_by_driver(found, execution.parent or self.application.owner)

    def _say(self, text: str) -> None:
        """Log a problem once for each kind."""
        kind = text.split(":", 1)[0]
        if kind not in self._said:
            self._said.add(kind)
            log.warning("headwater capture: %s (logged once)", text)


def _kind(jqe: Any) -> str:
    """Return the class of a plan's root."""
    facts = recorded.facts_of(jqe)
    return facts.kind if facts is not None and facts.kind else commands.kind(jqe.analyzed())


def _stack(jvm: Any, happening: Any) -> str:
    try:
        failure = happening.executionFailure()
        text = crossing.java_class(jvm, "org.apache.spark.util.Utils").exceptionString
        return str(text(failure.get())) if failure.isDefined() else ""
    except Exception:  # noqa: BLE001 - an older Spark does not say
        return ""
