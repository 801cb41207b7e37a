"""Which events a listener is sent."""

from fnmatch import fnmatchcase
from typing import Self

import msgspec

from headwater.errors import InvalidEvent, InvalidQuestion
from headwater.model.event import read
from headwater.store.people.listeners import Logged

_TYPES = frozenset({"START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER", "JOB", "DATASET"})


class Filter(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event has to fit every part that says something. Names are globs (`*`, `?`, `[a-z]`), case matters.

    `namespaces`: of the job, or of the dataset a dataset event is about. `jobs`: names; `namespace/name` also fits. A dataset event has no job.
    `event_types`: states of runs, and JOB and DATASET for events that are about no run.
    """

    namespaces: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    def checked(self) -> "Filter":
        """With types in capitals. Raises InvalidQuestion on one that does not exist, and on patterns that are absurd."""
        types = tuple(one.upper() for one in self.event_types)
        if unknown := sorted(set(types) - _TYPES):
            raise InvalidQuestion(f"{unknown[0]!r} is no event type; there are {', '.join(sorted(_TYPES))}")
        globs = self.namespaces + self.jobs
        if len(globs) > 100 or any(not one or len(one) > 500 for one in globs):
            raise InvalidQuestion("a filter has at most 100 patterns of 1 to 500 characters")
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
            told = read(event.body)
        except InvalidEvent:  # it was taken by other rules once: who narrows what it wants does not want it
            return False
        about = told.job or (told.dataset.name if told.dataset else None)
        if about is None or (self.namespaces and not _fits(about.namespace, self.namespaces)):
            return False
        if not self.jobs:
            return True
        job = told.job
        return job is not None and (_fits(job.name, self.jobs) or _fits(f"{job.namespace}/{job.name}", self.jobs))


def _fits(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
