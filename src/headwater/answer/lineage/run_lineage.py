"""Which version of each input did this run read, which run wrote it, and so on up; who read what it wrote, and so on down.

Nodes are runs and versions of datasets, so two runs of one job are two nodes: what a bad run spoiled is what is below it here, and nothing else.
Which version was read: the one the run names, where it names one (a `version` facet or an Iceberg scan), else the one there was when it began.
Walks level by level with a fixed number of statements for each.
"""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.lineage import DIRECTIONS, Hidden
from headwater.answer.lineage.runs import RunRef, start
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import facets as known
from headwater.model.names import short
from headwater.model.run import RunState
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.run_lineage import RunKey, Use, VersionRow
from headwater.store.lineage.runs import RunRow

# Limits on runs that may have read a version, by job: before the next version, and after it (these may name the older one).
_READERS, _LATER = 200, 3


class Question(msgspec.Struct, frozen=True):
    """`depth` counts versions: 1 is what the run itself read and wrote."""

    run: str
    direction: str = "both"
    depth: int = 3
    max_nodes: int = 2000
    as_of: dt.datetime | None = None


class RunNode(msgspec.Struct, kw_only=True, tag_field="type", tag="RUN"):
    id: str
    run_id: str
    external_id: str | None
    job: str
    label: str
    state: str
    effective_state: str
    started_at: dt.datetime
    ended_at: dt.datetime | None
    duration_ms: int | None
    parent: RunRef | None
    hop: int
    hidden_upstream: int = 0
    hidden_downstream: int = 0


class VersionNode(msgspec.Struct, kw_only=True, tag_field="type", tag="VERSION"):
    """A version of a dataset. Without `version_id` no write of it is recorded: a source, or a version only its reader names."""

    id: str
    dataset: str
    label: str
    version_id: str | None
    external_version: str | None
    written_at: dt.datetime | None
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None
    hop: int
    hidden_upstream: int = 0
    hidden_downstream: int = 0


class RunEdge(msgspec.Struct):
    """`relation` is READ or WROTE. `evidence`: TOLD by the run, DERIVED from the time it began, or UNKNOWN (no version is known)."""

    source: str
    target: str
    relation: str
    evidence: str
    declared: bool
    parts: list[dict[str, str]]


class RunLineage(msgspec.Struct):
    """`unchecked_readers`: versions and jobs with more runs in question than were looked at."""

    run_id: str
    roots: list[str]
    direction: str
    depth: int
    as_of: dt.datetime
    nodes: list[RunNode | VersionNode]
    edges: list[RunEdge]
    hidden: Hidden
    unchecked_readers: int


class Place(msgspec.Struct, frozen=True):
    """A version in the walk: one that is known by its id, or what one run alone says it read or wrote."""

    dataset: uuid.UUID
    version: uuid.UUID | None
    external: str = ""
    # The only run that reports it, if a run wrote it without a version.
    writer: RunKey | None = None


Key = RunKey | Place


class _Edge(msgspec.Struct, frozen=True):
    relation: str
    evidence: str
    declared: bool
    parts: tuple[str, ...]


class _Walk:
    def __init__(self, connection: Connection, question: Question) -> None:
        self.connection, self.question = connection, question
        self.as_of: dt.datetime | str = question.as_of or "infinity"
        self.hops: dict[Key, int] = {}
        self.rows: dict[RunKey, RunRow] = {}
        self.versions: dict[uuid.UUID, VersionRow] = {}
        self.edges: dict[tuple[Key, Key], _Edge] = {}
        self.beyond: dict[str, dict[Key, set[Key]]] = {"upstream": {}, "downstream": {}}
        self.capped: set[Key] = set()
        self.unchecked = 0

    def enter(self, key: Key, hop: int) -> bool:
        """Whether the node is part of the answer."""
        if key not in self.hops:
            if len(self.hops) >= self.question.max_nodes:
                self.capped.add(key)
                return False
            self.hops[key] = hop
        return True

    async def load_runs(self, keys: Collection[RunKey]) -> list[RunKey]:
        """Load the rows of these runs; return the runs that exist as of the time."""
        self.rows |= await store.runs(self.connection, set(keys) - self.rows.keys(), self.as_of)
        return sorted(key for key in keys if key in self.rows)

    async def read_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, _Edge]]:
        """Which version of each of its inputs each run read."""
        runs = await self.load_runs(keys)
        uses = await store.datasets(self.connection, runs, "in", self.as_of)
        found = await store.versions_at_start(
            self.connection, [(use.run, use.dataset, self.rows[use.run].began) for use in uses]
        )
        log = await run_log.load(self.connection, [self.rows[key] for key in runs])
        named = {(use.run, use.dataset): text for use in uses if (text := _named(log.get(use.run), use.dataset))}
        told = await store.versions_named(
            self.connection, [(d, text, self.rows[run].began) for (run, d), text in named.items()], self.as_of
        )
        met = {version for one in found.values() for version in one} | set(told.values())
        self.versions |= await store.versions(self.connection, met - self.versions.keys())
        places: dict[RunKey, dict[Place, _Edge]] = {}
        for use in uses:
            text = named.get((use.run, use.dataset), "")
            asked = told.get((use.dataset, text, self.rows[use.run].began)) if text else None
            places.setdefault(use.run, {}).update(self._read(use, text, asked, found.get((use.run, use.dataset), {})))
        return places

    def _read(
        self, use: Use, text: str, asked: uuid.UUID | None, derived: dict[uuid.UUID, list[str]]
    ) -> dict[Place, _Edge]:
        """What the run names goes before what the time says; a name that contradicts the time stands for a version that was not written here."""
        if asked is not None:
            return {Place(use.dataset, asked): _Edge("READ", "TOLD", use.declared, use.parts)}
        if text:
            derived = {v: parts for v, parts in derived.items() if not self.versions[v].external_version}
        if derived:
            return {
                Place(use.dataset, v): _Edge("READ", "DERIVED", use.declared, tuple(parts))
                for v, parts in derived.items()
            }
        evidence = "TOLD" if text else "UNKNOWN"
        return {Place(use.dataset, None, text): _Edge("READ", evidence, use.declared, use.parts)}

    async def written_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, _Edge]]:
        """What each run left behind."""
        runs = await self.load_runs(keys)
        uses = {(use.run, use.dataset): use for use in await store.datasets(self.connection, runs, "out", self.as_of)}
        found: dict[RunKey, dict[Place, _Edge]] = {}
        versioned = set()
        for row in await store.versions_written(self.connection, runs, self.as_of):
            self.versions[row.id] = row
            if row.writer is not None:
                versioned.add((row.writer, row.dataset))
                use = uses.get((row.writer, row.dataset))
                edge = _Edge("WROTE", "TOLD", row.declared, use.parts if use else ())
                found.setdefault(row.writer, {})[Place(row.dataset, row.id)] = edge
        for (run, dataset), use in uses.items():
            if (run, dataset) not in versioned:
                edge = _Edge("WROTE", "UNKNOWN", use.declared, use.parts)
                found.setdefault(run, {})[Place(dataset, None, writer=run)] = edge
        return found

    async def readers_of(self, places: Collection[Place]) -> dict[Place, dict[RunKey, _Edge]]:
        """Which runs read these versions: those in question are asked what they read."""
        ids = {place.version for place in places if place.version is not None}
        asked = await store.readers(self.connection, ids, self.as_of, most=_READERS, later=_LATER)
        counts: dict[tuple[uuid.UUID, uuid.UUID], int] = {}
        for version, (_, job) in asked:
            counts[version, job] = counts.get((version, job), 0) + 1
        self.unchecked += sum(count > _READERS for count in counts.values())
        read = await self.read_by({run for _, run in asked})
        found: dict[Place, dict[RunKey, _Edge]] = {}
        for run, mine in read.items():
            for place, edge in mine.items():
                if place.version in ids:
                    found.setdefault(place, {})[run] = edge
        return found

    def keep(self, source: Key, target: Key, edge: _Edge) -> None:
        self.edges.setdefault((source, target), edge)

    async def up(self, runs: set[RunKey]) -> None:
        seen = set(runs)
        for hop in range(1, self.question.depth + 1):
            writers: set[RunKey] = set()
            for run, mine in (await self.read_by(runs)).items():
                for place, edge in mine.items():
                    if not self.enter(place, -hop):
                        continue
                    self.keep(place, run, edge)
                    writer = self.writer_of(place)
                    if writer is not None:
                        writers.add(writer)
                        self.beyond["upstream"].setdefault(place, set()).add(writer)
            await self.load_runs(writers)
            runs = set()
            if hop < self.question.depth:
                for writer in sorted(writers & self.rows.keys() - seen):
                    seen.add(writer)
                    if self.enter(writer, -hop - 1):
                        runs.add(writer)
            if not runs:
                break
        await self._join_writers()

    async def _join_writers(self) -> None:
        """Every version of the answer is tied to the run that wrote it, if that is part of the answer too."""
        writers = {
            writer for key in self.hops if isinstance(key, Place) and (writer := self.writer_of(key)) in self.hops
        }
        for run, mine in (await self.written_by([key for key in writers if key is not None])).items():
            for place, edge in mine.items():
                if place in self.hops:
                    self.keep(run, place, edge)

    def writer_of(self, place: Place) -> RunKey | None:
        return place.writer if place.version is None else self.versions[place.version].writer

    async def down(self, runs: set[RunKey]) -> None:
        seen = set(runs)
        places: set[Place] = set()
        for hop in range(1, self.question.depth + 1):
            places = set()
            for run, written in (await self.written_by(runs)).items():
                for place, edge in written.items():
                    if self.enter(place, hop):
                        self.keep(run, place, edge)
                        places.add(place)
            if hop == self.question.depth or not places:
                break
            runs = await self._enter_readers(places, hop + 1) - seen
            seen |= runs
            if not runs:
                return
        for place, readers in (await self.readers_of(places)).items():
            for run, edge in readers.items():
                if run in self.hops:
                    self.keep(place, run, edge)
                else:
                    self.beyond["downstream"].setdefault(place, set()).add(run)

    async def _enter_readers(self, places: set[Place], hop: int) -> set[RunKey]:
        """The readers of these versions that are part of the answer."""
        found: set[RunKey] = set()
        readers = await self.readers_of(places)
        for place in sorted(readers, key=lambda place: str(place.version)):
            for run, edge in sorted(readers[place].items()):
                if self.enter(run, hop):
                    self.keep(place, run, edge)
                    found.add(run)
        return found


def _named(facets: run_log.RunFacets | None, dataset: uuid.UUID) -> str:
    """The version of an input that the run names; empty where it names none."""
    mine = facets.inputs.get(dataset) if facets else None
    if mine is None:
        return ""
    snapshot = node.plain(mine.here.get("icebergScanReport")).get("snapshotId")
    if snapshot is not None and snapshot != "":
        return str(snapshot)
    try:
        return known.external_version(mine.facets["version"]) if "version" in mine.facets else ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


async def run_lineage(database: Database, question: Question) -> RunLineage:
    """Answer the question. A run stands for the runs below it too, which do its work.

    Raises NotFound for a run that is not known (then), InvalidQuestion for a direction or depth that makes no sense.
    """
    if question.direction not in DIRECTIONS:
        raise InvalidQuestion(
            f"direction {question.direction!r} is not one of {', '.join(DIRECTIONS)}", direction=question.direction
        )
    if not 0 <= question.depth <= 100:
        raise InvalidQuestion("depth must be from 0 to 100", depth=question.depth)
    async with database.snapshot() as connection:
        first = (await start(connection, question.run))[0]
        walk = _Walk(connection, question)
        keys = await store.family(connection, first.run_id, walk.as_of, question.max_nodes + 1)
        if not keys:
            raise NotFound(
                f"run {first.run_id} was not yet reported at {walk.as_of}; it was first reported at {first.first_event_at.isoformat()}",
                run=str(first.run_id),
            )
        roots = {key for key in await walk.load_runs(keys) if walk.enter(key, 0)}
        if question.direction in {"both", "upstream"}:
            await walk.up(set(roots))
        if question.direction in {"both", "downstream"}:
            await walk.down(set(roots))
        return await _answer(walk, first.run_id, sorted(roots))


async def _answer(walk: _Walk, run_id: uuid.UUID, roots: list[RunKey]) -> RunLineage:
    runs = {key: walk.rows[key] for key in walk.hops if not isinstance(key, Place)}
    jobs = {row.job_id for row in runs.values()} | {row.parent_job_id for row in runs.values() if row.parent_job_id}
    datasets = {key.dataset for key in walk.hops if isinstance(key, Place)}
    names = await node_store.by_ids(walk.connection, jobs | datasets)
    below = await run_store.worst_below(walk.connection, {row.run_id for row in runs.values()})
    ids: dict[Key, str] = {}
    nodes: list[RunNode | VersionNode] = []
    for key, hop in walk.hops.items():
        made = _place(walk, key, names, hop) if isinstance(key, Place) else _run(walk, runs[key], names, below, hop)
        for side in ("upstream", "downstream"):
            setattr(made, f"hidden_{side}", len(walk.beyond[side].get(key, set()) - walk.hops.keys()))
        ids[key] = made.id
        nodes.append(made)
    hidden = {key for side in walk.beyond.values() for keys in side.values() for key in keys} | walk.capped
    hidden -= walk.hops.keys()
    reason = None
    if hidden:
        reason = (
            f"max_nodes={walk.question.max_nodes} reached" if walk.capped else f"depth={walk.question.depth} reached"
        )
    return RunLineage(
        run_id=str(run_id),
        roots=[ids[key] for key in roots],
        direction=walk.question.direction,
        depth=walk.question.depth,
        as_of=walk.question.as_of or dt.datetime.now(dt.UTC),
        nodes=sorted(nodes, key=lambda n: (n.hop, n.id)),
        edges=sorted(
            (
                RunEdge(ids[s], ids[t], e.relation, e.evidence, e.declared, [msgspec.json.decode(p) for p in e.parts])
                for (s, t), e in walk.edges.items()
                if s in ids and t in ids
            ),
            key=lambda e: (e.source, e.target),
        ),
        hidden=Hidden(len(hidden), reason),
        unchecked_readers=walk.unchecked,
    )


def _run(
    walk: _Walk, row: RunRow, names: dict[uuid.UUID, NodeRow], below: dict[uuid.UUID, RunState], hop: int
) -> RunNode:
    as_of = walk.question.as_of
    if as_of is not None and row.ended_at is not None and row.ended_at > as_of:
        row = msgspec.structs.replace(row, state=RunState.RUNNING, ended_at=None)
    parent = names.get(row.parent_job_id) if row.parent_job_id else None
    job = names[row.job_id]
    return RunNode(
        id=f"run:{row.run_id}:{job.node_id}",
        run_id=str(row.run_id),
        external_id=row.external_id,
        job=job.node_id,
        label=node.short_job(job.name),
        state=row.state.name,
        effective_state=node.effective(row, below.get(row.run_id, RunState.NEW)).name,
        started_at=row.began,
        ended_at=row.ended_at,
        duration_ms=node.duration_ms(row),
        parent=RunRef(str(row.parent_run_id), parent.node_id) if parent else None,
        hop=hop,
    )


def _place(walk: _Walk, place: Place, names: dict[uuid.UUID, NodeRow], hop: int) -> VersionNode:
    row = walk.versions[place.version] if place.version is not None else None
    name = names[place.dataset]
    dataset = name.node_id
    if row is not None:
        made = f"version:{row.id}"
    elif place.writer is not None:
        made = f"version:{dataset}@run:{place.writer[0]}"
    else:
        made = f"version:{dataset}@{place.external}"
    return VersionNode(
        id=made,
        dataset=dataset,
        label=short(name.name),
        version_id=str(row.id) if row else None,
        external_version=(row.external_version if row else place.external) or None,
        written_at=row.written_at if row else None,
        lifecycle=row.lifecycle if row else None,
        rows=row.rows if row else None,
        bytes=row.bytes if row else None,
        files=row.files if row else None,
        hop=hop,
    )
