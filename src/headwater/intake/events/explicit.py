"""The edges that explicit lineage stands for (OpenLineage's `lineage` facets of jobs and datasets). Pure.

An entry leads from sources to a target; Headwater's edges lie between a dataset and a job. A dataset feeds a dataset through the event's own job.
A job that an entry names has the edge itself: it reads what feeds it and writes what it feeds. A job that feeds a job stands in a dataset's place.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.model.lineage_facets import LineageEntry
from headwater.model.names import DatasetName, JobName


class EntryEdge(NamedTuple):
    """`job` reads (`in`) or writes (`out`) `place`: a dataset, or a job in a dataset's place. `job`: None for the event's own job."""

    place: DatasetName | JobName
    job: JobName | None
    direction: str


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
