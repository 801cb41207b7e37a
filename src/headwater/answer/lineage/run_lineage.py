"""The lineage of a run as `/api/v2/runs/ID/lineage` has always answered: the one walk over runs and versions alone, in its earlier shape."""

import datetime as dt

import msgspec

from headwater.answer.lineage.item_records import ItemRecords
from headwater.answer.lineage.lineage import check_reach
from headwater.answer.lineage.lineage_answer import Hidden, Node
from headwater.answer.lineage.record_nodes import RecordNodes
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.runs import start
from headwater.answer.lineage.walk import Walk
from headwater.errors import NotFound
from headwater.store.database import Database
from headwater.store.lineage import run_lineage as store


class Question(msgspec.Struct, frozen=True):
    """`depth` counts versions: 1 is what the run itself read and wrote."""

    run: str
    direction: str = "both"
    depth: int = 3
    max_nodes: int = 2000
    as_of: dt.datetime | None = None


class RunEdge(msgspec.Struct, gc=False):
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
    nodes: list[Node]
    edges: list[RunEdge]
    hidden: Hidden
    unchecked_readers: int


async def run_lineage(database: Database, question: Question) -> RunLineage:
    """Answer the question. A run stands for the runs below it too, which do its work.

    Raises NotFound for a run that is not known (then), InvalidQuestion for a direction or depth that makes no sense.
    """
    check_reach(question.direction, question.depth)
    async with database.snapshot() as connection:
        first = (await start(connection, question.run))[0]
        runs, items = RunRecords(connection, question.as_of), ItemRecords(connection, 0)
        keys = await store.family(connection, first.run_id, runs.as_of, question.max_nodes + 1)
        if not keys:
            raise NotFound(
                f"run {first.run_id} was not yet reported at {runs.as_of}; it was first reported at {first.first_event_at.isoformat()}",
                run=str(first.run_id),
            )
        walk = Walk([runs], await runs.load_runs(keys), question.max_nodes)
        await walk.go(question.direction, max(0, 2 * question.depth - 1))
        if question.direction != "downstream":
            await runs.join_writers(walk)
        shown = RecordNodes(runs, items)
        await shown.load(connection, walk.steps.keys())
    ids = shown.ids(walk)
    hidden = len(walk.hidden()) + walk.capped
    reason = f"max_nodes={question.max_nodes} reached" if walk.capped else f"depth={question.depth} reached"
    return RunLineage(
        run_id=str(first.run_id),
        roots=sorted(ids[key] for key in walk.roots if key in ids),
        direction=question.direction,
        depth=question.depth,
        as_of=question.as_of or dt.datetime.now(dt.UTC),
        nodes=sorted((shown.node(walk, ids[key], [key]) for key in walk.steps), key=lambda n: (n.hop, n.id)),
        edges=sorted(
            (
                RunEdge(ids[s], ids[t], e.relation, e.evidence, e.declared, [msgspec.json.decode(p) for p in e.parts])
                for (s, t), e in walk.links.items()
                if s in ids and t in ids
            ),
            key=lambda e: (e.source, e.target),
        ),
        hidden=Hidden(hidden, reason if hidden else None, walk.capped > 0),
        unchecked_readers=runs.unchecked,
    )
