"""Project what facets relate beside the inputs and outputs of an event: labels of the run, dependencies of jobs, dashboards of dbt's models and the
earlier name of a dataset (docs/decisions/055). Pure."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from headwater.intake.events.facets import is_deleted
from headwater.model import related
from headwater.model.event import DatasetReport, Event, Facets
from headwater.model.facets import is_snapshot
from headwater.model.names import DatasetName, JobName
from headwater.model.parts import left_out
from headwater.model.run_labels import run_labels
from headwater.store.events.rows import (
    AnyRow,
    ForeignEdgeRow,
    JobDependencyRow,
    ReportForeignEdgeRow,
    ReportRow,
    ReportSnapshotRow,
    RunLabelRow,
)

_RENAMED = "lifecycleStateChange"
_OF_DATASETS = frozenset({related.EXPOSURES, _RENAMED})


class Projection(Protocol):
    """The projection of one event, which adds the rows."""

    event: Event
    at: dt.datetime

    @property
    def add(self) -> Callable[[AnyRow], None]: ...
    def add_job(self, name: JobName) -> uuid.UUID: ...
    def add_place(self, name: DatasetName | JobName) -> uuid.UUID: ...
    def add_edge(
        self, job: uuid.UUID, report_id: uuid.UUID, dataset: uuid.UUID, direction: str, *, declared: bool, static: bool
    ) -> None: ...
    def add_dataset_facets(self, dataset: uuid.UUID, facets: Facets) -> Any: ...
    def decode(self, where: str, raw: msgspec.Raw | None, kind: str) -> Any: ...
    def warn_not_understood(self, where: str, problem: str) -> None: ...
    def warn_left_out(self, where: str, places: list[str]) -> None: ...


def add_report(of: Projection, run: uuid.UUID, job: uuid.UUID) -> None:
    """Add the report of a run with inputs or outputs. One that states all of a time window replaces what the run stated before."""
    of.add(ReportRow(job, run, False, of.at))
    if is_snapshot(bytes(of.event.job_facets.get("jobType", b""))):
        of.add(ReportSnapshotRow(job, run, of.at))


def add_run_relations(of: Projection, run: uuid.UUID, job: uuid.UUID) -> None:
    """Add the labels of a run, and the jobs that it says run before and after its job."""
    for name, value in run_labels(of.event.run_facets):
        of.add(RunLabelRow(run, job, name, value))
    facets = of.event.run_facets
    of.decode("run.facets.tags", facets.get("tags"), "tags")
    if related.DEPENDENCIES not in facets:
        return
    for one in _decoded(
        of, f"run.facets.{related.DEPENDENCIES}", facets.get(related.DEPENDENCIES), related.dependencies
    ):
        if (other := of.add_job(one.job)) != job:
            of.add(JobDependencyRow(job, *((other, job) if one.upstream else (job, other)), one.kind, of.at))


def add_dataset_relations(
    of: Projection, job: uuid.UUID, report_id: uuid.UUID, dataset: uuid.UUID, report: DatasetReport, direction: str
) -> None:
    """Add the dashboards that a model's `dbt_exposures` facet names, and the edge from the earlier name of an output that was renamed.

    A dashboard is a dataset of the job's namespace, fed by the model as if it declared that itself. Its edges live by the job's reports.
    """
    if _OF_DATASETS.isdisjoint(report.facets):
        return
    assert of.event.job is not None
    static = of.event.kind == "job"
    for one in _decoded(of, f"facets.{related.EXPOSURES}", report.facets.get(related.EXPOSURES), related.exposures):
        dashboard = of.add_place(DatasetName(of.event.job.namespace, one.id))
        kind = msgspec.Raw(msgspec.json.encode({"datasetType": one.kind.upper() or "DASHBOARD"}))
        of.add_dataset_facets(dashboard, {"datasetType": kind, "dbt_exposure": msgspec.Raw(one.body)})
        for node, side in ((dataset, "in"), (dashboard, "out")):
            of.add(ReportForeignEdgeRow(job, report_id, node, dashboard, side, of.at))
            of.add(ForeignEdgeRow(node, dashboard, side, job, of.at, static))
    for earlier in earlier_places(of, report, dataset) if direction == "out" else ():
        of.add_edge(job, report_id, earlier, "in", declared=True, static=static)


def earlier_places(of: Projection, report: DatasetReport, dataset: uuid.UUID) -> list[uuid.UUID]:
    """Add the dataset that a renamed one was before, and return its id; nothing of one that was not renamed, or to itself."""
    names = _decoded(of, f"facets.{_RENAMED}", report.facets.get(_RENAMED), related.previous_names)
    return [place for name in names if (place := of.add_place(name)) != dataset]


def _decoded(of: Projection, where: str, body: msgspec.Raw | None, decode: Callable[[bytes], list[Any]]) -> list[Any]:
    if body is None or is_deleted(bytes(body)):
        return []
    try:
        with left_out() as places:
            found = decode(bytes(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        of.warn_not_understood(where, str(error)[:300])
        return []
    of.warn_left_out(where, places)
    return found
