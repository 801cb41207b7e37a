"""The expected meaning of a story's events, computed independently and simply: dictionaries and sets, no database.

It shares only the OpenLineage specification and docs/explanation/projection.md with the server, or it would prove nothing.
"""

import datetime as dt
import hashlib
import uuid
from collections.abc import Iterable

import msgspec

from headwater.client import event

Name = tuple[str, str]
"""(namespace, name) of a dataset or job."""

_RANKS = ("NEW", "OTHER", "RUNNING", "COMPLETED", "ABORTED", "FAILED")
_STATES = {
    "START": "RUNNING",
    "RUNNING": "RUNNING",
    "COMPLETE": "COMPLETED",
    "ABORT": "ABORTED",
    "FAIL": "FAILED",
    "OTHER": "OTHER",
}


class Alias(msgspec.Struct, frozen=True):
    """A dataset's name that stands for another: `/t/day=1` is `/t`."""

    written: Name
    meant: Name


class ColumnEdge(msgspec.Struct, frozen=True, order=True):
    source: Name
    source_field: str
    target: Name
    target_field: str


class Run(msgspec.Struct):
    """The result of a run's events. `started`: the earliest START, or the first event without one; `ended`: the latest end."""

    job: Name
    state: str = "NEW"
    first: dt.datetime | None = None
    start: dt.datetime | None = None
    ended: dt.datetime | None = None
    inputs: set[Name] = msgspec.field(default_factory=set)
    outputs: set[Name] = msgspec.field(default_factory=set)

    @property
    def started(self) -> dt.datetime | None:
        return self.start or self.first


class Draft:
    """Collects a story's events, and records their meaning."""

    def __init__(self, at: dt.datetime) -> None:
        self.at = at
        self.events: list[bytes] = []
        self.last: set[int] = set()  # positions of events to be sent after all others
        self.runs: dict[str, Run] = {}
        self.column_edges: set[ColumnEdge] = set()

    def run(
        self,
        type_: str,
        run: str,
        job: Name,
        after_ms: int,
        *,
        inputs: Iterable[Name | Alias] = (),
        outputs: Iterable[Name | Alias] = (),
        facets: dict[Name, event.Facets] | None = None,
        run_facets: event.Facets | None = None,
        late: bool = False,
    ) -> None:
        """Add a run event, `after_ms` (below 900) into the round. `facets`: of its datasets; `late`: sent last of all."""
        moment = self.at + dt.timedelta(milliseconds=after_ms)
        sides = [list(inputs), list(outputs)]
        told = [[_dataset(item, facets or {}) for item in side] for side in sides]
        self._keep(
            event.run(
                type_, run_id=run, job=job, inputs=told[0], outputs=told[1], run_facets=run_facets, event_time=moment
            ),
            late,
        )
        model = self.runs.setdefault(run, Run(job))
        model.state = max(model.state, _STATES[type_], key=_RANKS.index)
        model.first = min(model.first or moment, moment)
        if type_ == "START":
            model.start = min(model.start or moment, moment)
        if type_ in {"COMPLETE", "ABORT", "FAIL"}:
            model.ended = max(model.ended or moment, moment)
        model.inputs |= {_meant(item) for item in sides[0]}
        model.outputs |= {_meant(item) for item in sides[1]}

    def dataset(self, name: Name, facets: event.Facets, after_ms: int) -> None:
        """Add a DatasetEvent, sent after everything else."""
        moment = self.at + dt.timedelta(milliseconds=after_ms)
        self._keep(event.dataset_event(*name, facets=facets, event_time=moment), late=True)

    def _keep(self, told: dict[str, object], late: bool) -> None:
        if late:
            self.last.add(len(self.events))
        self.events.append(msgspec.json.encode(told))

    # -- the graph that the events draw --

    @property
    def writes(self) -> set[tuple[Name, Name]]:
        """Return (job, dataset) pairs."""
        return {(run.job, dataset) for run in self.runs.values() for dataset in run.outputs}

    @property
    def reads(self) -> set[tuple[Name, Name]]:
        """Return (dataset, job) pairs."""
        return {(dataset, run.job) for run in self.runs.values() for dataset in run.inputs}

    @property
    def datasets(self) -> set[Name]:
        return {dataset for run in self.runs.values() for dataset in run.inputs | run.outputs}

    @property
    def jobs(self) -> set[Name]:
        return {run.job for run in self.runs.values()}

    def walk(self, start: Name, direction: str) -> set[tuple[str, str]]:
        """Return the edges (node id to node id) on every path into (`upstream`) or out of (`downstream`) a dataset."""
        writes = {(job_id(job), dataset_id(dataset)) for job, dataset in self.writes}
        reads = {(dataset_id(dataset), job_id(job)) for dataset, job in self.reads}
        every = writes | reads
        near = 1 if direction == "upstream" else 0
        found: set[tuple[str, str]] = set()
        level = {dataset_id(start)}
        while level:
            step = {edge for edge in every if edge[near] in level} - found
            found |= step
            level = {edge[1 - near] for edge in step}
        return found

    def edges(self) -> set[tuple[str, str]]:
        """Return every edge, node id to node id."""
        return {(job_id(job), dataset_id(dataset)) for job, dataset in self.writes} | {
            (dataset_id(dataset), job_id(job)) for dataset, job in self.reads
        }


def _meant(item: "Name | Alias") -> Name:
    return item.meant if isinstance(item, Alias) else item


def _dataset(item: "Name | Alias", facets: dict[Name, event.Facets]) -> dict[str, object]:
    written = item.written if isinstance(item, Alias) else item
    return event.dataset(*written, facets=facets.get(written, {}))


def dataset_id(name: Name) -> str:
    return f"dataset:{name[0]}:{name[1]}"


def job_id(name: Name) -> str:
    return f"job:{name[0]}:{name[1]}"


def run_uuid(text: str) -> str:
    """Return a run's id on the server: its own if that is a UUID, else Marquez's (MD5 of the text with the version-3 bits, no namespace)."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return str(uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest(), version=3))
