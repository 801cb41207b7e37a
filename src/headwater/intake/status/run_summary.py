"""All that the events of one run say together. Pure.

OpenLineage's events add to each other: an end may leave out what the start told, and a facet stands until the run tells it again. So what a run
made is asked of all its events, and any order of them says the same.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.model.event import DatasetReport, Event, Facets
from headwater.model.names import DatasetName, JobName


class Heard(NamedTuple):
    """An event of the log, read. `at`: its event time, or that of its arrival where it has none."""

    event: Event
    at: dt.datetime
    digest: bytes
    received_at: dt.datetime


class RunTold(NamedTuple):
    """One run of one job. Events of each kind are in the order of their times; `inputs` and `outputs` are by the names that were told."""

    run: uuid.UUID
    job: JobName
    facets: Facets
    job_facets: Facets
    inputs: Mapping[DatasetName, DatasetReport]
    outputs: Mapping[DatasetName, DatasetReport]
    starts: tuple[Heard, ...]
    completes: tuple[Heard, ...]
    failures: tuple[Heard, ...]


def told(events: Iterable[Heard]) -> RunTold:
    """What run events of one run and one job say together; at least one. The same event twice is one.

    Of a facet that is told twice the later stands, ties go to the greater digest.
    """
    ordered = sorted({one.digest: one for one in events}.values(), key=lambda one: (one.at, one.digest))
    facets, job_facets = Facets(), Facets()
    inputs, outputs = dict[DatasetName, DatasetReport](), dict[DatasetName, DatasetReport]()
    for one in ordered:
        facets |= one.event.run_facets
        job_facets |= one.event.job_facets
        for found, reports in ((inputs, one.event.inputs), (outputs, one.event.outputs)):
            for report in reports:
                before = found.get(report.name)
                found[report.name] = report if before is None else _together(before, report)
    event = ordered[0].event
    assert event.run_id is not None
    assert event.job is not None
    return RunTold(
        event.run_id,
        event.job,
        facets,
        job_facets,
        inputs,
        outputs,
        *(
            tuple(one for one in ordered if one.event.event_type in types)
            for types in (("START",), ("COMPLETE",), ("FAIL", "ABORT"))
        ),
    )


def _together(before: DatasetReport, after: DatasetReport) -> DatasetReport:
    return DatasetReport(before.name, before.facets | after.facets, before.io_facets | after.io_facets)
