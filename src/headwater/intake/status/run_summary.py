"""Summarise all events of one run. Pure.

OpenLineage's events are cumulative: a COMPLETE may leave out what START reported, and a facet applies until the run sends it again. So what a run
made follows from all its events, in any order of arrival.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.model.event import DatasetReport, Event, Facets
from headwater.model.names import DatasetName, JobName


class LoggedEvent(NamedTuple):
    """A decoded event of the log. `at`: its event time, or its time of arrival if it has none."""

    event: Event
    at: dt.datetime
    digest: bytes
    received_at: dt.datetime


class RunSummary(NamedTuple):
    """All events of one run of one job. The events of each kind are ordered by time; `inputs` and `outputs` are by reported name."""

    run: uuid.UUID
    job: JobName
    facets: Facets
    job_facets: Facets
    inputs: Mapping[DatasetName, DatasetReport]
    outputs: Mapping[DatasetName, DatasetReport]
    starts: tuple[LoggedEvent, ...]
    completes: tuple[LoggedEvent, ...]
    failures: tuple[LoggedEvent, ...]


def summarise_run(events: Iterable[LoggedEvent]) -> RunSummary:
    """Summarise the events of one run and one job, at least one. Repeated events count once.

    The latest occurrence of a facet wins; ties go to the greater digest.
    """
    ordered = sorted({e.digest: e for e in events}.values(), key=lambda e: (e.at, e.digest))
    facets, job_facets = Facets(), Facets()
    inputs, outputs = dict[DatasetName, DatasetReport](), dict[DatasetName, DatasetReport]()
    for logged in ordered:
        facets |= logged.event.run_facets
        job_facets |= logged.event.job_facets
        for merged, reports in ((inputs, logged.event.inputs), (outputs, logged.event.outputs)):
            for report in reports:
                before = merged.get(report.name)
                merged[report.name] = report if before is None else _merge(before, report)
    event = ordered[0].event
    assert event.run_id is not None
    assert event.job is not None
    return RunSummary(
        event.run_id,
        event.job,
        facets,
        job_facets,
        inputs,
        outputs,
        *(
            tuple(logged for logged in ordered if logged.event.event_type in types)
            for types in (("START",), ("COMPLETE",), ("FAIL", "ABORT"))
        ),
    )


def _merge(before: DatasetReport, after: DatasetReport) -> DatasetReport:
    return DatasetReport(before.name, before.facets | after.facets, before.io_facets | after.io_facets)
