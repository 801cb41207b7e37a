"""The parent of query runs: the step they ran in, else the run that started this process, else the Spark application itself.

With a parent in the environment (`headwater run`, Airflow) the application has no run. Without one it is a run: START when
attached, COMPLETE or FAIL at the end.
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from headwater.capture.spark import coverage, emission
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.emission import Emitter
from headwater.client import context, current, event


class Application:
    """The owner of a SparkContext's query runs, and what it has reported as read by the driver."""

    def __init__(
        self,
        emitter: Emitter,
        namespace: str,
        name: str,
        version: str,
        details: dict[str, Any],
        heartbeat: float = 0,
        began: datetime | None = None,
    ) -> None:
        self.emitter = emitter
        self._alive = emission.heartbeat(heartbeat)
        self.version = version
        given = current.inherited()  # a step may begin and end around this
        self.own_run = given is None
        self.owner = given or context.own(event.run_id(), (namespace, name))
        self.ended = False
        self._reported: set[str] = set()
        self.coverage = Coverage()
        if self.own_run:
            facets = {**emission.engine(version), **emission.spark(**details), **self._alive}
            self._emit("START", run_facets=facets, job_facets=emission.job_type(False, "APPLICATION"), event_time=began)

    def owner_at(self, milliseconds: int) -> context.Parent:
        """Return the parent of a query that began then. Spark reports it in another thread, a little later, in whole milliseconds."""
        return current.at((milliseconds + 1) / 1000) or self.owner

    def read_by_driver(self, read: Analysis, owner: context.Parent, warnings: Sequence[str] = ()) -> None:
        """Report columns that the driver read as inputs of the owner, once for each set of columns."""
        entries, text = emission.driver_read(read)
        digest = f"{owner.run_id} {text}"
        if digest in self._reported:
            return
        if len(self._reported) < 10_000:
            self._reported.add(digest)
        inputs = emission.inputs(read.inputs, read.leaves, None)
        facets = emission.lineage(entries)
        self.emitter.emit(
            event.run(
                "RUNNING",
                run_id=owner.run_id,
                job=owner.job,
                inputs=inputs,
                run_facets=emission.warnings(list(warnings)),
                job_facets=facets,
            )
        )

    def beat(self) -> None:
        """Say that the application runs."""
        if self.own_run and not self.ended:
            self._emit("RUNNING", run_facets=self._alive)

    def abort(self, reason: str) -> None:
        """End the application, which was stopped from outside."""
        if self.ended:
            return
        self.ended = True
        if self.own_run:
            self._emit("ABORT", run_facets={**emission.engine(self.version), **emission.error(reason, "")})

    def died(self) -> type | None:
        """Return the type of the exception that ended the program: Python sets `sys.last_type` then."""
        return getattr(sys, "last_type", None)

    def end(self) -> None:
        """End the application. FAIL if an exception ended the program, ABORT if Ctrl-C did."""
        if self.ended:
            return
        self.ended = True
        if not self.own_run:
            self._emit("RUNNING", run_facets=coverage.facet(self.coverage))
            return
        died = self.died()
        facets = emission.error(f"{died.__name__}: {getattr(sys, 'last_value', '')}", "") if died else {}
        state = "COMPLETE" if died is None else "ABORT" if issubclass(died, KeyboardInterrupt) else "FAIL"
        covered = coverage.facet(self.coverage)
        self._emit(state, run_facets={**emission.engine(self.version), **facets, **covered})

    def _emit(self, kind: str, **parts: Any) -> None:
        self.emitter.emit(event.run(kind, run_id=self.owner.run_id, job=self.owner.job, **parts))
