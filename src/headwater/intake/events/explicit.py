"""The edges that explicit lineage stands for (OpenLineage's `lineage` facets of jobs and datasets). Pure.

An entry leads from sources to a target; Headwater's edges lie between a dataset and a job. A dataset feeds a dataset through the event's own job.
A job that an entry names has the edge itself: it reads what feeds it and writes what it feeds. A job that feeds a job stands in a dataset's place.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

from headwater.intake.events.facets import FacetDecoder
from headwater.intake.events.spelling import Spellings
from headwater.model.column_sets import ColumnSet, column_set
from headwater.model.event import Event
from headwater.model.lineage import Origin
from headwater.model.lineage_facets import LineageEntry
from headwater.model.names import DatasetName, JobName
from headwater.store.events.rows import AnyRow, ForeignEdgeRow, ReportForeignEdgeRow


class Projection(Protocol):
    """The projection of one event, which adds the rows."""

    event: Event
    at: dt.datetime
    decoder: FacetDecoder
    spellings: Spellings

    @property
    def add(self) -> Callable[[AnyRow], None]: ...
    def add_job(self, name: JobName) -> uuid.UUID: ...
    def add_place(self, name: DatasetName | JobName) -> uuid.UUID: ...
    def add_edge(
        self, job: uuid.UUID, report_id: uuid.UUID, dataset: uuid.UUID, direction: str, *, declared: bool, static: bool
    ) -> None: ...
    def add_columns(
        self, job: uuid.UUID, report_id: uuid.UUID, target: uuid.UUID, origin: Origin, columns: ColumnSet
    ) -> None: ...
    def decode(self, where: str, raw: msgspec.Raw | None, kind: str) -> Any: ...


class EntryEdge(NamedTuple):
    """`job` reads (`in`) or writes (`out`) `place`: a dataset, or a job in a dataset's place. `job`: None for the event's own job."""

    place: DatasetName | JobName
    job: JobName | None
    direction: str


def add_job_lineage(of: Projection, job: uuid.UUID, report_id: uuid.UUID, *, static: bool) -> None:
    """Add the edges and column edges of a job's `lineage` facet. An entry's target is a dataset, another job, or this job."""
    assert of.event.job is not None
    for entry in of.decode("job.facets.lineage", of.event.job_facets.get("lineage"), "job_lineage") or []:
        target = of.event.job if entry.target is None else entry.target
        _add_entry(of, job, report_id, entry, target, job_edges(entry, of.event.job), static=static)


def add_dataset_lineage(
    of: Projection, dataset: uuid.UUID, report_id: uuid.UUID, entry: LineageEntry, own: DatasetName
) -> None:
    """Add the edges and column edges of the `lineage` facet of the dataset `own`."""
    _add_entry(of, dataset, report_id, entry, own, dataset_edges(entry, own), static=True)


def _add_entry(
    of: Projection,
    reporter: uuid.UUID,
    report_id: uuid.UUID,
    entry: LineageEntry,
    target: DatasetName | JobName,
    edges: list[EntryEdge],
    *,
    static: bool,
) -> None:
    """Add an entry's edges and column edges. Edges of other jobs live by the reporter's reports, as the reporter's own do."""
    for place, of_job, direction in edges:
        node = of.add_place(place)
        if of_job is None and isinstance(place, DatasetName):
            of.add_edge(reporter, report_id, node, direction, declared=static, static=static)
        else:
            job = reporter if of_job is None else of.add_job(of_job)
            of.add(ReportForeignEdgeRow(reporter, report_id, node, job, direction, of.at))
            of.add(ForeignEdgeRow(node, job, direction, reporter, of.at, static))
    columns = column_set(of.spellings.spelled(target, entry.inputs), of.decoder.identity)
    of.add_columns(reporter, report_id, of.add_place(target), Origin.EXPLICIT, columns)


def job_edges(entry: LineageEntry, own: JobName) -> list[EntryEdge]:
    """Return the edges of an entry in the event of the job `own`, each once and in order."""
    return sorted(set(_job_edges(entry, own)), key=repr)


def _job_edges(entry: LineageEntry, own: JobName) -> Iterator[EntryEdge]:
    named = source_jobs(entry)
    jobs = [job for job in named if job != own]
    from_own_job = entry.from_own_job or own in named
    datasets = source_datasets(entry)
    if isinstance(entry.target, DatasetName):
        yield from (EntryEdge(source, None, "in") for source in datasets)
        yield from (EntryEdge(entry.target, job, "out") for job in jobs)
        # What other jobs alone made was not written by the one that reports it, unless its outputs list it.
        if datasets or from_own_job or not jobs:
            yield EntryEdge(entry.target, None, "out")
        return
    target = None if entry.target == own else entry.target
    yield from (EntryEdge(source, target, "in") for source in datasets)
    if target is not None and from_own_job:
        jobs.append(own)
    for job in jobs:
        if job != target:
            yield EntryEdge(job, None if job == own else job, "out")
            yield EntryEdge(job, target, "in")


def dataset_edges(entry: LineageEntry, own: DatasetName) -> list[EntryEdge]:
    """Return the edges of the entry in the event of the dataset `own`, which itself stands in the job's place."""
    datasets = [EntryEdge(source, None, "in") for source in source_datasets(entry) if source != own]
    return datasets + [EntryEdge(own, job, "out") for job in source_jobs(entry)]


def source_datasets(entry: LineageEntry) -> list[DatasetName]:
    """The datasets that feed any field of an entry, each once and in order."""
    return sorted(source for source in _sources(entry) if isinstance(source, DatasetName))


def source_jobs(entry: LineageEntry) -> list[JobName]:
    """The jobs that feed any field of an entry, each once and in order."""
    return sorted(source for source in _sources(entry) if isinstance(source, JobName))


def _sources(entry: LineageEntry) -> set[DatasetName | JobName]:
    return {item.source for inputs in entry.inputs.values() for item in inputs}
