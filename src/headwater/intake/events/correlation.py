"""What an event says of correlation: which run read and wrote which very items and contents. Pure.

Our facets are `headwater_step` of a run (`parents`: runs and items that caused it) and `headwater_item` of an input or output (`id`,
`fingerprint`, `bytes`); a `version` facet that is a fingerprint tells as much. In an event that has one of these, any `version` facet says
what content a dataset is. An event without them is not correlated: its versions are in the lineage of runs, which keeps no closure
(docs/decisions/012 has what that would cost).
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

STEP, ITEM = "headwater_step", "headwater_item"
# Roles of edges.
CAUSED, READ, WROTE, IS = 0, 1, 2, 3

_FINGERPRINT = b'"xxh3-128'
Add = Callable[..., None]


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


def tells(event: Event) -> bool:
    """Whether a run's event says anything of correlation."""
    reports = (*event.inputs, *event.outputs)
    return STEP in event.run_facets or any(
        ITEM in one.here or ("version" in one.facets and _FINGERPRINT in bytes(one.facets["version"]))
        for one in reports
    )


class Parent(msgspec.Struct, frozen=True):
    """What caused a step: a run of a job, or an item."""

    run: uuid.UUID | None
    job: JobName | None
    item: uuid.UUID | None


def _mine(id_: uuid.UUID | None) -> bool:
    """Ids of runs and contents are derived (version 5): an item that calls itself so would be another node."""
    return id_ is not None and id_.version == 5


def parents(body: bytes) -> list[Parent]:
    """The parents a `headwater_step` facet tells. Raises msgspec.ValidationError for another shape."""
    found = []
    for one in _step.decode(body).parents or []:
        if one.item is not None and not _mine(one.item):
            found.append(Parent(None, None, one.item))
        elif one.run_id and one.job is not None and one.job.namespace.strip() and one.job.name.strip():
            job = job_name(clean(one.job.namespace), clean(one.job.name))
            found.append(Parent(version.run_id(clean(one.run_id))[0], job, None))
        else:
            raise msgspec.ValidationError("a parent is {runId, job: {namespace, name}} or {item}, an id no one derived")
    return found


class Correlation:
    """Rows of one run's event. `add` takes the name of a statement of projections.sql and its columns."""

    def __init__(
        self, add: Add, warn: Callable[[str, str], None], run: uuid.UUID, job: uuid.UUID, at: dt.datetime, digest: bytes
    ) -> None:
        self._add, self._warn, self._run, self._job, self._at, self._digest = add, warn, run, job, at, digest
        self._node: uuid.UUID | None = None
        self._part: str | None = None

    def caused(self, body: bytes) -> list[Parent]:
        """The run's parents as its facet tells them."""
        try:
            found = [] if is_deleted(body) else parents(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._warn(f"run.facets.{STEP}", str(error)[:300])
            return []
        for one in found:
            if one.item is not None:
                self._claim(one.item, None)
                self._edge(one.item, self._me(), CAUSED)
            elif one.run is not None and one.job is not None:
                job = version.job_id(one.job)
                self._edge(self._run_node(one.run, job), self._me(), CAUSED)
        return found

    def dataset(self, direction: str, dataset: uuid.UUID, part: Mapping[str, str], external: str, here: Facets) -> None:
        """An input (`in`) or output of the run. `external` is what its `version` facet says, or empty; `part` was folded out of its name.

        An item that was read by its id is what was read: that others are the same content is no step of this run.
        """
        item = self._read(here[ITEM], direction) if ITEM in here else None
        told = (item.fingerprint if item is not None else None) or external
        if item is None and not told:
            return
        self._part = bounded(msgspec.json.encode(part, order="deterministic").decode()) if part else None
        if direction == "in" and item is not None and item.id is not None:
            self._claim(item.id, dataset)
            self._edge(item.id, self._me(), READ)
            return
        content = self._content(dataset, bounded(clean(told)), item.bytes if item else None) if told else None
        if direction == "in":
            if content is not None:
                self._edge(content, self._me(), READ)
        elif item is not None and item.id is not None:
            self._wrote(item.id, dataset, bounded(clean(told)) if told else None, item.bytes)
            self._edge(self._me(), item.id, WROTE)
            if content is not None:
                self._edge(item.id, content, IS)
        elif content is not None:
            self._edge(self._me(), content, WROTE)

    def _read(self, raw: msgspec.Raw, direction: str) -> _Item | None:
        body = bytes(raw)
        where = f"{'inputs.inputFacets' if direction == 'in' else 'outputs.outputFacets'}.{ITEM}"
        try:
            item = None if is_deleted(body) else _item.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._warn(where, str(error)[:300])
            return None
        if item is None:
            return None
        if _mine(item.id):
            self._warn(where, "the id of an item is one no one derived (version 7)")
            item.id = None
        if item.bytes is not None and not 0 <= item.bytes < 2**63:
            item.bytes = None
        return item

    # -- rows --

    def _me(self) -> uuid.UUID:
        if self._node is None:
            self._node = self._run_node(self._run, self._job)
        return self._node

    def _run_node(self, run: uuid.UUID, job: uuid.UUID) -> uuid.UUID:
        node = version.correlated_run_id(run, job)
        self._item(node, "RUN", run=run, job=job)
        return node

    def _content(self, dataset: uuid.UUID, external: str, size: int | None) -> uuid.UUID:
        node = version.correlated_content_id(dataset, external)
        self._item(node, "CONTENT", dataset=dataset, external=external, size=size)
        return node

    def _claim(self, item: uuid.UUID, dataset: uuid.UUID | None) -> None:
        """An item that somebody speaks of; its writer may not have been heard yet."""
        self._item(item, "ITEM", dataset=dataset)

    def _wrote(self, item: uuid.UUID, dataset: uuid.UUID, external: str | None, size: int | None) -> None:
        self._item(item, "ITEM", dataset=dataset, run=self._run, job=self._job, external=external, size=size)

    def _item(
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
            "upsert_correlation_items", node, kind, dataset, run, job, external, self._part if dataset else None, size,
            self._at, self._digest,
        )  # fmt: skip

    def _edge(self, parent: uuid.UUID, child: uuid.UUID, role: int) -> None:
        self._add("new_correlation_edges", parent, child, role, self._at, self._digest)
