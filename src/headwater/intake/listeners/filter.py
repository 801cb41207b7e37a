"""Select the events that a listener receives."""

from fnmatch import fnmatchcase
from typing import Self

import msgspec

from headwater.errors import InvalidEvent, InvalidQuestion
from headwater.model.event import read
from headwater.store.people.listeners import Logged

_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER", "JOB", "DATASET"})


class Filter(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event must match every part that is not empty. Names are case-sensitive globs (`*`, `?`, `[a-z]`).

    `namespaces`: of the job, or of a DatasetEvent's dataset. `jobs`: names, or `namespace/name`; a DatasetEvent has no job.
    `event_types`: OpenLineage's event types of runs, and JOB and DATASET for JobEvents and DatasetEvents.
    """

    namespaces: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    def checked(self) -> "Filter":
        """The filter with its types in upper case. Raises InvalidQuestion for an unknown type, and for too many or too long patterns."""
        types = tuple(type_.upper() for type_ in self.event_types)
        if unknown := sorted(set(types) - _TYPES):
            raise InvalidQuestion(f"{unknown[0]!r} is not an event type; use one of {', '.join(sorted(_TYPES))}")
        globs = self.namespaces + self.jobs
        if len(globs) > 100 or any(not glob or len(glob) > 500 for glob in globs):
            raise InvalidQuestion("a filter must have at most 100 patterns, each of 1 to 500 characters")
        return Filter(self.namespaces, self.jobs, types)

    def wants(self, event: Logged) -> bool:
        if (
            self.event_types
            and (event.event_type if event.kind == "run" else event.kind.upper()) not in self.event_types
        ):
            return False
        if not self.namespaces and not self.jobs:
            return True
        try:
            decoded = read(event.body)
        except InvalidEvent:  # accepted by an earlier version; its names are unknown
            return False
        subject = decoded.job or (decoded.dataset.name if decoded.dataset else None)
        if subject is None or (self.namespaces and not _fits(subject.namespace, self.namespaces)):
            return False
        if not self.jobs:
            return True
        job = decoded.job
        return job is not None and (_fits(job.name, self.jobs) or _fits(f"{job.namespace}/{job.name}", self.jobs))


def _fits(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
