"""Project the results of checks of data: of a dataset that a run read or wrote (`dataQualityAssertions`), and of a run (`test`). Pure.

Each result is a row of its own, so that a run may report its checks in many events. Which version was checked is not known here: it follows from what
the run read, which other events tell.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from headwater.intake.events.facets import is_deleted
from headwater.model import version
from headwater.model.checks import TESTS, CheckResult, assertions, tests
from headwater.model.event import Event
from headwater.model.parts import left_out
from headwater.store.events.rows import AnyRow, CheckRow


class Projection(Protocol):
    """The projection of one event, which adds the rows."""

    event: Event
    at: dt.datetime
    digest: bytes

    @property
    def add(self) -> Callable[[AnyRow], None]: ...
    def warn_not_understood(self, where: str, problem: str) -> None: ...
    def warn_left_out(self, where: str, places: list[str]) -> None: ...


class Subject(NamedTuple):
    """The subject of a check: a dataset that a run read (`in`) or wrote (`out`), or all of a run (`run`, then `dataset` is its job's id).

    `event`: a dataset that no run checked; then `run` is the event's id, `job` the dataset's. `version`, `part`: what such an event names of it.
    """

    run: uuid.UUID
    job: uuid.UUID
    direction: str
    dataset: uuid.UUID
    version: str = ""
    part: str = ""


def event_subject(digest: bytes, dataset: uuid.UUID, version_name: str, part: str) -> Subject:
    """The subject of a check in an event without a run: the dataset, and which version and part of it the event names."""
    return Subject(version.declaration_id(digest), dataset, "event", dataset, version_name, part)


def add_assertions(of: Projection, subject: Subject, body: msgspec.Raw) -> None:
    """Add the results of a dataset's `dataQualityAssertions` facet."""
    _add_results(of, subject, "dataQualityAssertions", body, assertions)


def add_run_checks(of: Projection, run: uuid.UUID, job: uuid.UUID) -> None:
    """Add the results of a run's `test` facet. They are about what the run read; about what it wrote, if it read nothing."""
    facets = of.event.run_facets
    if TESTS in facets:
        _add_results(of, Subject(run, job, "run", job), f"run.facets.{TESTS}", facets[TESTS], tests)


def _add_results(
    of: Projection, subject: Subject, where: str, body: msgspec.Raw, decode: Callable[[bytes], list[CheckResult]]
) -> None:
    raw = bytes(body)
    if is_deleted(raw):
        return
    try:
        with left_out() as places:
            results = decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        of.warn_not_understood(where, str(error)[:300])
        return
    of.warn_left_out(where, places)
    for each in results:
        of.add(
            CheckRow(
                *subject[:4],
                each.name,
                each.field,
                of.at,
                of.digest,
                int(each.result),
                each.detail,
                subject.version,
                subject.part,
            )
        )
