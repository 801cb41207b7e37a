"""The runs, versions, items and instances of a walk as nodes, each once: an item, a version and an instance of the same data are one node."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.item_records import ItemRecords
from headwater.answer.lineage.lineage_answer import RunNode, Skipped, VersionNode
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.runs import RunRef
from headwater.answer.lineage.walk import Instances, Item, Key, Place, Walk
from headwater.model.names import short
from headwater.model.run import RunState
from headwater.store.database import Connection
from headwater.store.lineage import correlation as store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import RunKey, RunsBelow

STEP = "headwater_step"


class RecordNodes:
    """Load the runs, versions, items and contents of a walk, in a fixed number of statements."""

    def __init__(self, runs: RunRecords, items: ItemRecords) -> None:
        self._runs, self._items = runs, items
        self.runs = runs.rows
        self.names: dict[uuid.UUID, NodeRow] = {}
        self.steps: dict[RunKey, Step] = {}
        self._canonical: dict[uuid.UUID, uuid.UUID] = {}
        self._below: dict[uuid.UUID, RunsBelow] = {}
        self.writers: dict[uuid.UUID, list[RunKey]] = {}

    async def load(self, connection: Connection, keys: Collection[Key]) -> None:
        """Load names, states, steps and claims for these nodes."""
        runs = {key for key in keys if isinstance(key, RunKey)}
        await self._runs.load_runs(runs)
        rows = [row for key in runs if (row := self._runs.rows.get(key)) is not None]
        items = [self._items.by_key[key] for key in keys if isinstance(key, Item)]
        correlated = runs & self._items.by_key.keys()
        stepped = [self._runs.rows[key] for key in correlated & self._runs.rows.keys()]
        self.steps = {
            RunKey(*key): step_of(body) for key, body in (await run_log.latest(connection, stepped, STEP)).items()
        }
        self.writers = await store.writers(connection, [row.id for row in items if row.collided])
        datasets = {row.dataset_id for row in items if row.dataset_id}
        self._canonical = await name_store.canonical(connection, datasets) if datasets else {}
        self._below = await run_store.below(connection, {row.run_id for row in rows})
        named = {key.dataset for key in keys if isinstance(key, Place)} | {self._canonical.get(i, i) for i in datasets}
        named |= {key.job for key in runs} | {row.parent_job_id for row in rows if row.parent_job_id}
        named |= {key.job for claims in self.writers.values() for key in claims}
        self.names = await node_store.by_ids(connection, named)

    def ids(self, walk: Walk) -> dict[Key, str]:
        """The id of each node of the answer; the same one for keys that are one node."""
        found: dict[Key, str] = {}
        contents: dict[Key, set[Key]] = defaultdict(set)
        above: dict[Key, set[Key]] = defaultdict(set)
        for (source, target), link in walk.links.items():
            if isinstance(target, Item):
                above[target].add(source)
                if link.relation == "IS":
                    contents[source].add(target)
        for key in walk.steps:
            if not isinstance(key, Item):
                found[key] = self._id(key)
        for key in walk.steps:
            if isinstance(key, Item):
                only = next(iter(above[key])) if len(above[key]) == 1 else None
                drawn = only if only is not None and contents.get(only) == {key} and only in walk.steps else key
                found[key] = self._id(drawn)
        return found

    def _id(self, key: Key) -> str:
        if isinstance(key, RunKey):
            job = self.names.get(key.job)
            return f"run:{key.run}:{job.node_id if job else key.job}"
        if isinstance(key, Instances):
            return f"instances:{key.entity}"
        if isinstance(key, Item):
            return self._item_id(key)
        if key.version is not None:
            return f"version:{key.version}"
        writer = f"run:{key.writer.run}" if key.writer else key.external
        return f"version:{self.names[key.dataset].node_id}@{writer}"

    def _item_id(self, key: Item) -> str:
        written, row = self._items.written_in.get(key, []), self._items.rows[key.id]
        if len(written) == 1 and written[0][1]:
            return f"version:{written[0][0].id}"
        if row.kind == "CONTENT" and not written and (dataset := self.dataset(row)) is not None:
            return f"version:{dataset.node_id}@{row.external_version}"
        return f"{row.kind.lower()}:{row.id}"

    def dataset(self, row: store.Node) -> NodeRow | None:
        """The dataset of an item or content."""
        return self.names.get(self._canonical.get(row.dataset_id, row.dataset_id)) if row.dataset_id else None

    def claims_of(self, row: store.Node) -> list[RunRef]:
        """Return the runs that claim to have written an item, where several things claim its id."""
        return [RunRef(str(key.run), self.names[key.job].node_id) for key in self.writers.get(row.id, ())]

    def node(self, walk: Walk, id_: str, keys: Collection[Key]) -> RunNode | VersionNode:
        """The node that these keys are together."""
        made: RunNode | VersionNode | None = None
        for key in sorted(keys, key=lambda key: isinstance(key, Item)) if len(keys) > 1 else keys:
            one: RunNode | VersionNode
            if isinstance(key, RunKey):
                one = self._run(id_, key, walk.hop(key))
            elif isinstance(key, Place):
                one = self._place(id_, key, walk.hop(key))
            else:
                one = self._item(id_, key, walk.hop(key))
            one.hidden_upstream, one.hidden_downstream = (
                walk.hidden_at(key, "upstream"),
                walk.hidden_at(key, "downstream"),
            )
            made = one if made is None else _merged(made, one)
        assert made is not None
        return made

    def _run(self, id_: str, key: RunKey, hop: int) -> RunNode:
        """A run; one that only others name has no state."""
        row, job, as_of = self._runs.rows.get(key), self.names.get(key.job), self._runs.as_of
        made = RunNode(
            id=id_, run_id=str(key.run), external_id=None, job=job.node_id if job else None,
            label=node.short_job(job.name) if job else str(key.run), state=None, effective_state=None, started_at=None,
            ended_at=None, duration_ms=None, parent=None, hop=hop,
        )  # fmt: skip
        if row is not None:
            if isinstance(as_of, dt.datetime) and row.ended_at is not None and row.ended_at > as_of:
                row = msgspec.structs.replace(row, state=RunState.RUNNING, ended_at=None)
            parent = self.names.get(row.parent_job_id) if row.parent_job_id else None
            made.external_id, made.state = row.external_id, row.state.name
            state, row = node.followed(row, self._below.get(row.run_id))
            made.effective_state = state.name
            made.started_at, made.ended_at, made.duration_ms = row.began, row.ended_at, node.duration_ms(row)
            made.parent = RunRef(str(row.parent_run_id), parent.node_id) if parent else None
        if (step := self.steps.get(key)) is not None:
            made.version, made.forced, made.overrides = step.version, step.forced, step.overrides
            made.skipped, made.details = step.skipped, step.details
        return made

    def _place(self, id_: str, key: Place, hop: int) -> VersionNode:
        """A version, as far as its row is known."""
        row = self._runs.versions.get(key.version) if key.version is not None else None
        name = self.names[key.dataset]
        return VersionNode(
            id=id_, dataset=name.node_id, label=short(name.name), version_id=str(row.id) if row else None,
            external_version=(row.external_version if row else key.external) or None,
            written_at=row.written_at if row else None, lifecycle=row.lifecycle if row else None,
            rows=row.rows if row else None, bytes=row.bytes if row else None, files=row.files if row else None, hop=hop,
        )  # fmt: skip

    def _item(self, id_: str, key: Key, hop: int) -> VersionNode:
        """An item or a content, with the version that it was written in."""
        assert isinstance(key, Item)
        row, dataset = self._items.rows[key.id], self.dataset(self._items.rows[key.id])
        written = [version for version, _ in self._items.written_in.get(key, ())]
        label = short(dataset.name) if dataset else row.external_version or str(row.id)
        part = part_of(row.part)
        return VersionNode(
            id=id_, dataset=dataset.node_id if dataset else None,
            label="/".join([label, *(f"{name}={value}" for name, value in (part or {}).items())]),
            version_id=str(written[0].id) if len(written) == 1 else None, external_version=row.external_version,
            written_at=written[0].written_at if len(written) == 1 else row.at, lifecycle=None, rows=None, bytes=row.bytes,
            files=None, hop=hop, item=str(row.id) if row.kind == "ITEM" else None, part=part, collided=row.collided,
            claimed_by=self.claims_of(row),
        )  # fmt: skip


_OF_ITEMS = (
    "dataset", "version_id", "external_version", "written_at", "bytes", "item", "part", "collided", "claimed_by",
)  # fmt: skip
"""The fields that a version has from the item that it is."""


def _merged(one: RunNode | VersionNode, other: RunNode | VersionNode) -> RunNode | VersionNode:
    """Merge two descriptions of one node; the first takes precedence."""
    if isinstance(one, RunNode) or isinstance(other, RunNode):
        return one
    one.hidden_upstream += other.hidden_upstream
    one.hidden_downstream += other.hidden_downstream
    for field in _OF_ITEMS:
        if getattr(one, field) in (None, [], False):
            setattr(one, field, getattr(other, field))
    if other.part and one.label == other.label.partition("/")[0]:
        one.label = other.label
    one.hop = min(one.hop, other.hop, key=abs)
    return one


def part_of(text: str | None) -> dict[str, str] | None:
    """Return the part of its dataset; None for the whole, and for a text that was too long to be stored whole."""
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else None
    except msgspec.DecodeError:
        return None


class Step(msgspec.Struct):
    """The content of a run's `headwater_step` facet."""

    version: str | None
    forced: bool
    overrides: list[str]
    skipped: list[Skipped]
    details: dict[str, msgspec.Raw]


def step_of(body: bytes | None) -> Step:
    """Read the facet; parts of another shape are ignored."""
    said = node.plain(body)
    told, details = said.get("version"), said.get("details")
    return Step(
        str(told) if isinstance(told, str | int | float) and told != "" else None,
        said.get("forced") is True,
        [one for one in _listed(said, "overrides") if isinstance(one, str)],
        [
            Skipped(text, run if isinstance(run := one.get("run_id"), str) else None)
            for one in _listed(said, "skipped")
            if isinstance(one, dict) and isinstance(text := one.get("fingerprint"), str)
        ],
        _fields(_fields(body)["details"]) if body is not None and isinstance(details, dict) else {},
    )


def _listed(said: dict[str, Any], key: str) -> list[Any]:
    found = said.get(key)
    return found if isinstance(found, list) else []


def _fields(body: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The fields of an object, as they came."""
    return msgspec.json.decode(body, type=dict[str, msgspec.Raw])
