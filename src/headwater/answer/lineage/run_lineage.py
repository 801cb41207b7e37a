"""Which version of each input did this run read, which run wrote it, and so on up; who read what it wrote, and so on down.

Nodes are runs and versions of datasets, so two runs of one job are two nodes: what a bad run spoiled is what is below it here, and nothing else.
"""

import datetime as dt
import uuid

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.lineage import DIRECTIONS, Hidden
from headwater.answer.lineage.run_walk import Key, Place, RunWalk
from headwater.answer.lineage.runs import RunRef, start
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.names import short
from headwater.model.run import RunState
from headwater.store.database import Database
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as store
from headwater.store.lineage import runs as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.run_lineage import RunKey
from headwater.store.lineage.runs import RunRow


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
        walk = RunWalk(connection, question.depth, question.max_nodes, question.as_of)
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
        return await _answer(walk, question, first.run_id, sorted(roots))


async def _answer(walk: RunWalk, question: Question, run_id: uuid.UUID, roots: list[RunKey]) -> RunLineage:
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
            beyond = walk.beyond[side].get(key, ())
            setattr(made, f"hidden_{side}", sum(each not in walk.hops for each in beyond))
        ids[key] = made.id
        nodes.append(made)
    hidden = {key for side in walk.beyond.values() for keys in side.values() for key in keys} | walk.capped
    hidden -= walk.hops.keys()
    reason = None
    if hidden:
        reason = f"max_nodes={walk.max_nodes} reached" if walk.capped else f"depth={walk.depth} reached"
    return RunLineage(
        run_id=str(run_id),
        roots=[ids[key] for key in roots],
        direction=question.direction,
        depth=walk.depth,
        as_of=question.as_of or dt.datetime.now(dt.UTC),
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
    walk: RunWalk, row: RunRow, names: dict[uuid.UUID, NodeRow], below: dict[uuid.UUID, RunState], hop: int
) -> RunNode:
    as_of = walk.as_of
    if isinstance(as_of, dt.datetime) and row.ended_at is not None and row.ended_at > as_of:
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


def _place(walk: RunWalk, place: Place, names: dict[uuid.UUID, NodeRow], hop: int) -> VersionNode:
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
