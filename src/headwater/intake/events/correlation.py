"""Project an event's correlation: which run read and wrote which items and contents. Pure.

Correlation comes from Headwater's own facets: `headwater_step` of a run (`parents`: the runs and items that caused it) and
`headwater_item` of an input or output (`id`, `fingerprint`, `bytes`). A `version` facet that holds a fingerprint counts as one. If an event
has any of these, each of its `version` facets identifies a content. An event without them is not correlated: its versions are part of run
lineage, which has no closure (docs/decisions/012 has the cost of one).
"""

import datetime as dt
import uuid
from collections.abc import Callable, Mapping

import msgspec

from headwater.intake.events.facets import is_deleted
from headwater.model import version
from headwater.model.event import Event, Facets
from headwater.model.facets import clean
from headwater.model.names import JobName, bounded, job_name
from headwater.store.events.rows import AnyRow, CorrelationEdgeRow, CorrelationItemRow

STEP, ITEM = "headwater_step", "headwater_item"
# Roles of edges.
CAUSED, READ, WROTE, IS = 0, 1, 2, 3

_FINGERPRINT = b'"xxh3-128'
Add = Callable[[AnyRow], None]


class _Item(msgspec.Struct):
    id: uuid.UUID | None = None
    fingerprint: str | None = None
    bytes: int | None = None


class _Job(msgspec.Struct):
    namespace: str
    name: str


class _StepParent(msgspec.Struct, rename="camel"):
    run_id: str | None = None
    job: _Job | None = None
    item: uuid.UUID | None = None


class _Step(msgspec.Struct):
    parents: list[_StepParent] | None = None


_item = msgspec.json.Decoder(_Item)
_step = msgspec.json.Decoder(_Step)


def has_correlation(event: Event) -> bool:
    """Return whether a RunEvent reports correlation."""
    reports = (*event.inputs, *event.outputs)
    return STEP in event.run_facets or any(
        ITEM in report.io_facets or ("version" in report.facets and _FINGERPRINT in bytes(report.facets["version"]))
        for report in reports
    )


class Parent(msgspec.Struct, frozen=True):
    """The cause of a step: a run of a job, or an item."""

    run: uuid.UUID | None
    job: JobName | None
    item: uuid.UUID | None


def _is_derived(id_: uuid.UUID | None) -> bool:
    """Return whether the id is a version 5 UUID. Headwater derives those for runs and contents, so an item with one could be another node."""
    return id_ is not None and id_.version == 5


def parents(body: bytes) -> list[Parent]:
    """The parents in a `headwater_step` facet. Raises msgspec.ValidationError for a malformed facet."""
    found = []
    for parent in _step.decode(body).parents or []:
        if parent.item is not None and not _is_derived(parent.item):
            found.append(Parent(None, None, parent.item))
        elif parent.run_id and parent.job is not None and parent.job.namespace.strip() and parent.job.name.strip():
            job = job_name(clean(parent.job.namespace), clean(parent.job.name))
            found.append(Parent(version.run_id(clean(parent.run_id))[0], job, None))
        else:
            raise msgspec.ValidationError(
                "a parent must be {runId, job: {namespace, name}} or {item}; an item's id must not be a version 5 UUID"
            )
    return found


class Correlation:
    """Adds the correlation rows of one RunEvent. `add` takes each row."""

    def __init__(
        self, add: Add, warn: Callable[[str, str], None], run: uuid.UUID, job: uuid.UUID, at: dt.datetime, digest: bytes
    ) -> None:
        self._add, self._warn, self._run, self._job, self._at, self._digest = add, warn, run, job, at, digest
        self._node: uuid.UUID | None = None
        self._part: str | None = None

    def add_parents(self, body: bytes) -> list[Parent]:
        """Add the parents in the run's `headwater_step` facet, and return them."""
        try:
            causes = [] if is_deleted(body) else parents(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._warn(f"run.facets.{STEP}", str(error)[:300])
            return []
        for cause in causes:
            if cause.item is not None:
                self._add_unwritten_item(cause.item, None)
                self._add_edge(cause.item, self._this_run(), CAUSED)
            elif cause.run is not None and cause.job is not None:
                job = version.job_id(cause.job)
                self._add_edge(self._add_run(cause.run, job), self._this_run(), CAUSED)
        return causes

    def add_dataset(
        self, direction: str, dataset: uuid.UUID, part: Mapping[str, str], external: str, io_facets: Facets
    ) -> None:
        """Add an input (`in`) or output (`out`) of the run. `external`: the value of its `version` facet, or empty.

        `part`: the partition folded out of its name. An input with an item id was read as that item; other items of equal content are not
        inputs of this run.
        """
        item = self._decode_item(io_facets[ITEM], direction) if ITEM in io_facets else None
        content_version = (item.fingerprint if item is not None else None) or external
        if item is None and not content_version:
            return
        self._part = bounded(msgspec.json.encode(part, order="deterministic").decode()) if part else None
        if direction == "in" and item is not None and item.id is not None:
            self._add_unwritten_item(item.id, dataset)
            self._add_edge(item.id, self._this_run(), READ)
            return
        content_version = bounded(clean(content_version)) if content_version else ""
        content = None
        if content_version:
            content = self._add_content(dataset, content_version, item.bytes if item else None)
        if direction == "in":
            if content is not None:
                self._add_edge(content, self._this_run(), READ)
        elif item is not None and item.id is not None:
            self._add_written_item(item.id, dataset, content_version or None, item.bytes)
            self._add_edge(self._this_run(), item.id, WROTE)
            if content is not None:
                self._add_edge(item.id, content, IS)
        elif content is not None:
            self._add_edge(self._this_run(), content, WROTE)

    def _decode_item(self, raw: msgspec.Raw, direction: str) -> _Item | None:
        body = bytes(raw)
        where = f"{'inputs.inputFacets' if direction == 'in' else 'outputs.outputFacets'}.{ITEM}"
        try:
            item = None if is_deleted(body) else _item.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._warn(where, str(error)[:300])
            return None
        if item is None:
            return None
        if _is_derived(item.id):
            self._warn(where, "an item's id must not be a version 5 UUID; use version 7")
            item.id = None
        if item.bytes is not None and not 0 <= item.bytes < 2**63:
            item.bytes = None
        return item

    # -- rows --

    def _this_run(self) -> uuid.UUID:
        if self._node is None:
            self._node = self._add_run(self._run, self._job)
        return self._node

    def _add_run(self, run: uuid.UUID, job: uuid.UUID) -> uuid.UUID:
        node = version.correlated_run_id(run, job)
        self._add_node(node, "RUN", run=run, job=job)
        return node

    def _add_content(self, dataset: uuid.UUID, external: str, size: int | None) -> uuid.UUID:
        node = version.correlated_content_id(dataset, external)
        self._add_node(node, "CONTENT", dataset=dataset, external=external, size=size)
        return node

    def _add_unwritten_item(self, item: uuid.UUID, dataset: uuid.UUID | None) -> None:
        """Add an item that this event refers to and did not write; its writer's event may arrive later."""
        self._add_node(item, "ITEM", dataset=dataset)

    def _add_written_item(self, item: uuid.UUID, dataset: uuid.UUID, external: str | None, size: int | None) -> None:
        self._add_node(item, "ITEM", dataset=dataset, run=self._run, job=self._job, external=external, size=size)

    def _add_node(
        self,
        node: uuid.UUID,
        kind: str,
        *,
        dataset: uuid.UUID | None = None,
        run: uuid.UUID | None = None,
        job: uuid.UUID | None = None,
        external: str | None = None,
        size: int | None = None,
    ) -> None:
        self._add(
            CorrelationItemRow(
                node, kind, dataset, run, job, external, self._part if dataset else None, size, self._at, self._digest
            )
        )

    def _add_edge(self, parent: uuid.UUID, child: uuid.UUID, role: int) -> None:
        self._add(CorrelationEdgeRow(parent, child, role, self._at, self._digest))
