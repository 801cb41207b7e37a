"""Send one event of a query's run, batch or stream. Its callers decide when."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from headwater.capture.spark import coverage, emission
from headwater.capture.spark.analysis import Analysis
from headwater.capture.spark.application import Application
from headwater.capture.spark.commands import Write
from headwater.capture.spark.config import Config
from headwater.capture.spark.statistics import Metrics
from headwater.client import event
from headwater.client.context import Parent
from headwater.model import names


class Query(msgspec.Struct):
    """A write and its inputs. `parent`: the step it ran in; None: the application. `spark`: Spark's name for it; `job`: its own, if it has one."""

    run_id: str
    write: Write
    analysis: Analysis | None
    sql: str
    parent: Parent | None
    spark: dict[str, Any]
    job: str = ""


class Teller:
    """Sends the events of one application's queries."""

    def __init__(self, application: Application, config: Config, details: dict[str, Any]) -> None:
        self._application = application
        self._config = config
        self._details = details

    def tell(
        self,
        kind: str,
        query: Query,
        when: datetime,
        *,
        facets: Mapping[str, Any] | None = None,
        metrics: Metrics | None = None,
        streaming: bool = False,
        read_to: Mapping[tuple[str, str], list[emission.Offset]] | None = None,
        written_to: list[emission.Offset] | None = None,
    ) -> None:
        """Send an event. `facets`: further run facets. `read_to`: a stream's offsets, by dataset; `written_to`: the same for its outputs. A write
        without a name is not reported.
        """
        write, found = query.write, query.analysis
        if write.target is None:
            return
        outputs = emission.output(write, found, metrics, self._config.largest_lineage, written_to)
        inputs = emission.inputs(found.inputs, found.leaves, metrics, read_to) if found else []
        owner = query.parent or self._application.owner
        alive = emission.heartbeat(self._config.heartbeat) if kind in {"START", "RUNNING"} else {}
        run_facets = {
            **alive,
            **emission.parent_facets(owner, self._application.version),
            **emission.spark(**self._details, **query.spark),
            **emission.warnings(found.warnings if found else []),
            **self._covered(kind, found),
            **(facets or {}),
        }
        self._application.emitter.emit(
            event.run(
                kind,
                run_id=query.run_id,
                job=_job(owner, query.job or write.target.name),
                inputs=inputs,
                outputs=outputs,
                run_facets=run_facets,
                job_facets={**emission.job_type(streaming), **emission.sql(query.sql)},
                event_time=when,
            )
        )

    def _covered(self, kind: str, found: Analysis | None) -> dict[str, Any]:
        """Return the facet of what the query read, and count it for the application at the query's end."""
        if found is None:
            return {}
        counted = msgspec.structs.replace(found.leaves.coverage, written=1)
        if kind in {"COMPLETE", "FAIL"}:
            self._application.coverage.add(counted)
        return coverage.facet(counted)

    def beat(self, query: Query) -> None:
        """Say that the run of a query has not ended."""
        if query.write.target is None:
            return
        owner = query.parent or self._application.owner
        facets = emission.heartbeat(self._config.heartbeat)
        job = _job(owner, query.job or query.write.target.name)
        self._application.emitter.emit(event.run("RUNNING", run_id=query.run_id, job=job, run_facets=facets))


def _job(owner: Parent, target: str) -> tuple[str, str]:
    return owner.job_namespace, f"{owner.job_name}.{names.short(target)}"
