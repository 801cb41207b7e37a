"""Conflicts between sources of lineage: runs, manifests, JobEvents, people, explicit lineage, column lineage, parsed SQL.

Other answers settle conflicts by precedence and liveness without showing them. This one lists each with its sources, their claims and their
last reports. It reads what keeps edges alive at the time: the last runs of a job and its latest declaration.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.answer.lineage.find import row_seen_by
from headwater.errors import InvalidQuestion
from headwater.graph import conflicts as graph
from headwater.graph.conflicts import KINDS, Evidence, LastReport
from headwater.store.database import Connection, Database
from headwater.store.lineage import conflicts as store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.conflicts import EdgeReport, TargetEvidence
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow

# Limits: jobs read together, jobs in one answer, conflicts listed of one job.
_BATCH, _MOST_JOBS, _LISTED = 200, 2000, 200


class Question(msgspec.Struct, frozen=True):
    """About a dataset or job, or (without `node`) about all jobs of a namespace or of all, from where an earlier answer ended (`after`)."""

    node: str | None = None
    namespace: str | None = None
    kind: str | None = None
    limit: int = 100
    after: str | None = None
    as_of: dt.datetime | None = None


class Claim(msgspec.Struct):
    """`says` is CLAIMS, DENIES or MISSING. `at`: when it was claimed last, or when the same source last reported without claiming it."""

    origin: str
    says: str
    at: dt.datetime
    run_id: str | None


class Conflict(msgspec.Struct):
    """An edge has the job as source or target; else it is about an input that feeds an output of the job."""

    kind: str
    job: str
    source: str
    target: str
    claims: list[Claim]


class Conflicts(msgspec.Struct):
    """`hidden`: conflicts of jobs that have too many to list. `next`: to be given as `after`; null at the end."""

    as_of: dt.datetime
    conflicts: list[Conflict]
    jobs_checked: int
    hidden: int
    next: str | None


async def conflicts(database: Database, question: Question) -> Conflicts:
    """Answer the question. A job's conflicts stay together, so there may be more than `limit`.

    Raises NotFound for an unknown node, InvalidQuestion for an unknown kind or a place that no answer gave.
    """
    if question.kind is not None and question.kind not in KINDS:
        raise InvalidQuestion(f"kind {question.kind!r} is not one of {', '.join(KINDS)}", parameter="kind")
    if question.node is not None and (question.namespace is not None or question.after is not None):
        raise InvalidQuestion("node cannot be combined with namespace or after", parameter="node")
    moment = Moment(question.as_of or "infinity")
    answer = Conflicts(question.as_of or dt.datetime.now(dt.UTC), [], 0, 0, None)
    async with database.snapshot() as connection:
        if question.node is not None:
            row = await row_seen_by(connection, question.node, question.as_of)
            jobs = [row.id]
            if row.type == "DATASET":
                met = [
                    e for side in ("in", "out") for e in await edge_store.at_datasets(connection, jobs, side, moment)
                ]
                jobs = sorted({edge.job for edge in met})
            await _add(connection, answer, question, jobs, moment, row)
            return answer
        after = _place(question.after)
        while len(answer.conflicts) < question.limit and answer.jobs_checked < _MOST_JOBS:
            jobs = await store.jobs_after(connection, after, question.namespace, _BATCH)
            if not jobs:
                return answer
            after = await _add(connection, answer, question, jobs, moment, None)
        if after is not None and await store.jobs_after(connection, after, question.namespace, 1):
            answer.next = str(after)
    return answer


def _place(after: str | None) -> uuid.UUID | None:
    try:
        return None if after is None else uuid.UUID(after)
    except ValueError as error:
        raise InvalidQuestion("after must be the `next` of an earlier answer", parameter="after") from error


async def _add(
    connection: Connection,
    answer: Conflicts,
    question: Question,
    jobs: Sequence[uuid.UUID],
    moment: Moment,
    about: NodeRow | None,
) -> uuid.UUID | None:
    """Add the conflicts of these jobs, in their order, until there are enough; the last job that was looked at."""
    found: list[list[graph.Conflict]] = []
    for told in await _evidence(connection, jobs, moment):
        mine = graph.conflicts(told)
        if about is not None and about.type == "DATASET":
            mine = [c for c in mine if about.id in {c.source, c.target}]
        found.append([c for c in mine if question.kind in {None, c.kind}])
    names = await node_store.by_ids(
        connection, {id_ for some in found for c in some for id_ in (c.job, c.source, c.target)}
    )
    last = None
    for job, some in zip(jobs, found, strict=True):
        # Evidence may name a job as a source, or a dataset that no event names otherwise: such a thing is no edge of this graph.
        shown = [c for c in some if c.source in names and c.target in names and _is_edge(c, names)]
        answer.conflicts += [_conflict_view(c, names) for c in shown[:_LISTED]]
        answer.hidden += max(0, len(shown) - _LISTED)
        answer.jobs_checked += 1
        last = job
        if about is None and len(answer.conflicts) >= question.limit:
            break
    return last


def _is_edge(conflict: graph.Conflict, names: dict[uuid.UUID, NodeRow]) -> bool:
    return all(id_ == conflict.job or names[id_].type == "DATASET" for id_ in (conflict.source, conflict.target))


def _conflict_view(conflict: graph.Conflict, names: dict[uuid.UUID, NodeRow]) -> Conflict:
    return Conflict(
        conflict.kind,
        names[conflict.job].node_id,
        names[conflict.source].node_id,
        names[conflict.target].node_id,
        [Claim(c.who, c.says, c.said.at, str(c.said.run) if c.said.run else None) for c in conflict.claims],
    )


async def _evidence(connection: Connection, jobs: Sequence[uuid.UUID], moment: Moment) -> list[Evidence]:
    """Load the reports about each job, and what its child jobs were observed to do."""
    above = await _below(connection, jobs)
    told = await store.edge_reports(connection, {*jobs, *above}, moment)
    evidence = await store.evidence(connection, jobs, moment)
    reads, writes = _sides(told, "in"), _sides(told, "out")
    below: dict[str, dict[uuid.UUID, dict[uuid.UUID, LastReport]]] = {"in": {}, "out": {}}
    for one in told:
        if one.who == graph.OBSERVED:
            for job in above.get(one.job, ()):
                _latest(below[one.direction].setdefault(job, {}), one.dataset, LastReport(one.at, one.run))
    feeds = _feeds(evidence)
    for job, sources in reads.items():
        # Such a read has an edge because the column lineage names it, and a run's edges that are not observed count as its manifest's.
        named = {id_ for inputs in feeds.get(job, {}).get(graph.COLUMN_LINEAGE, {}).values() for id_ in inputs}
        if graph.MANIFEST in sources:
            sources[graph.MANIFEST] = {id_: said for id_, said in sources[graph.MANIFEST].items() if id_ not in named}
    return [
        Evidence(
            job,
            reads.get(job, {}),
            writes.get(job, {}),
            feeds.get(job, {}),
            below["in"].get(job, {}),
            below["out"].get(job, {}),
        )
        for job in jobs
    ]


async def _below(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return for each job those of the jobs that it is below; a statement for each level."""
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    level = {job: {job} for job in jobs}
    while level:
        following: dict[uuid.UUID, set[uuid.UUID]] = {}
        for parent, children in (await edge_store.children(connection, level.keys())).items():
            for child in children:
                fresh = level[parent] - found.get(child, set()) - {child}
                if fresh:
                    found.setdefault(child, set()).update(fresh)
                    following.setdefault(child, set()).update(fresh)
        level = following
    return found


def _sides(told: Collection[EdgeReport], direction: str) -> dict[uuid.UUID, dict[str, dict[uuid.UUID, LastReport]]]:
    """Return the last report of each claim, by job, claiming source and dataset."""
    found: dict[uuid.UUID, dict[str, dict[uuid.UUID, LastReport]]] = {}
    for one in told:
        if one.direction == direction:
            _latest(found.setdefault(one.job, {}).setdefault(one.who, {}), one.dataset, LastReport(one.at, one.run))
    return found


def _feeds(
    evidence: Collection[TargetEvidence],
) -> dict[uuid.UUID, dict[str, dict[uuid.UUID, dict[uuid.UUID, LastReport]]]]:
    """Return the last report of each claim, by job, claiming source, target dataset and source dataset."""
    found: dict[uuid.UUID, dict[str, dict[uuid.UUID, dict[uuid.UUID, LastReport]]]] = {}
    for one in evidence:
        sources = found.setdefault(one.job, {}).setdefault(one.origin.name, {}).setdefault(one.target, {})
        for source in one.sources:
            _latest(sources, source, LastReport(one.at, one.run))
    return found


def _latest(into: dict[uuid.UUID, LastReport], key: uuid.UUID, said: LastReport) -> None:
    if key not in into or into[key].at < said.at:
        into[key] = said
