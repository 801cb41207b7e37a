"""Summarise all events of one run. Pure.

OpenLineage's events are cumulative: a COMPLETE may leave out what START reported, and a facet applies until the run sends it again. So what a run
made follows from all its events, in any order of arrival.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.intake.events.facets import decode_or_none
from headwater.model.checks import Result, assertions, assertions_facet
from headwater.model.event import DatasetReport, Event, Facets
from headwater.model.names import DatasetName, JobName


class LoggedEvent(NamedTuple):
    """A decoded event of the log. `at`: its event time, or its time of arrival if it has none."""

    event: Event
    at: dt.datetime
    digest: bytes
    received_at: dt.datetime


class CheckOutcome(NamedTuple):
    """The latest result of a check of an output in one run. `failed_once`: an earlier one was a failure. `digest`: of the event that has it."""

    result: Result
    failed_once: bool
    at: dt.datetime
    digest: bytes


class RunSummary(NamedTuple):
    """All events of one run of one job. The events of each kind are ordered by time; `inputs` and `outputs` are by reported name.

    `checks`: by output, check and column.
    """

    run: uuid.UUID
    job: JobName
    facets: Facets
    job_facets: Facets
    inputs: Mapping[DatasetName, DatasetReport]
    outputs: Mapping[DatasetName, DatasetReport]
    starts: tuple[LoggedEvent, ...]
    completes: tuple[LoggedEvent, ...]
    failures: tuple[LoggedEvent, ...]
    checks: Mapping[tuple[DatasetName, str, str], CheckOutcome] = {}


def summarise_run(events: Iterable[LoggedEvent]) -> RunSummary:
    """Summarise the events of one run and one job, at least one. Repeated events count once.

    The latest occurrence of a facet wins; ties go to the greater digest.
    """
    ordered = sorted({e.digest: e for e in events}.values(), key=lambda e: (e.at, e.digest))
    facets, job_facets = Facets(), Facets()
    inputs, outputs = dict[DatasetName, DatasetReport](), dict[DatasetName, DatasetReport]()
    checks: dict[tuple[DatasetName, str, str], CheckOutcome] = {}
    for logged in ordered:
        facets |= logged.event.run_facets
        job_facets |= logged.event.job_facets
        for merged, reports in ((inputs, logged.event.inputs), (outputs, logged.event.outputs)):
            for report in reports:
                before = merged.get(report.name)
                merged[report.name] = report if before is None else _merge(before, report)
        for report in logged.event.outputs:
            _add_checks(checks, report, logged)
    event = ordered[0].event
    assert event.run_id is not None
    assert event.job is not None

    def of_type(*types: str) -> tuple[LoggedEvent, ...]:
        return tuple(logged for logged in ordered if logged.event.event_type in types)

    return RunSummary(
        event.run_id,
        event.job,
        facets,
        job_facets,
        inputs,
        outputs,
        of_type("START"),
        of_type("COMPLETE"),
        of_type("FAIL", "ABORT"),
        checks,
    )


def _add_checks(
    checks: dict[tuple[DatasetName, str, str], CheckOutcome], report: DatasetReport, logged: LoggedEvent
) -> None:
    """Replace the results of checks by those of a later event; of two in one event the worse counts."""
    for facets in (report.facets, report.io_facets):
        for each in decode_or_none(assertions, assertions_facet(facets)) or ():
            key = report.name, each.name, each.field
            before, result = checks.get(key), each.result
            if before is not None and before.digest == logged.digest:
                result = max(result, before.result)
            failed = before is not None and (before.failed_once or before.result == Result.FAILED)
            checks[key] = CheckOutcome(result, failed, logged.at, logged.digest)


def _merge(before: DatasetReport, after: DatasetReport) -> DatasetReport:
    return DatasetReport(before.name, before.facets | after.facets, before.io_facets | after.io_facets)
