"""Items and contents as `/api/v2/correlation/ID` has always answered: the one walk over items alone, in its earlier shape.

Nodes are runs (RUN), what they say they wrote or read by an id (ITEM), and content known by its fingerprint or version (CONTENT).
"""

import datetime as dt
import re
import uuid

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.item_records import ItemRecords
from headwater.answer.lineage.lineage_answer import Skipped
from headwater.answer.lineage.record_nodes import RecordNodes, part_of
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.runs import RunRef
from headwater.answer.lineage.walk import ALL, Key, Walk
from headwater.errors import InvalidQuestion, NotFound
from headwater.graph import mermaid
from headwater.graph.tracing import as_lineage
from headwater.model import version
from headwater.store.database import Connection, Database
from headwater.store.lineage import correlation as store
from headwater.store.lineage import runs
from headwater.store.lineage.runs import RunKey

DIRECTIONS = {"both": "both", "ancestors": "upstream", "descendants": "downstream"}


class Question(msgspec.Struct, frozen=True):
    """`id`: an item, a run, a fingerprint or a dataset's node id. `depth`: steps from item to run or run to item; None is as far as the closure
    table reaches, `all` is everything."""

    id: str
    direction: str = "both"
    depth: int | str | None = None
    max_nodes: int = 2000


class CorrelationNode(msgspec.Struct, kw_only=True, gc=False):
    """`depth` is negative upstream. `version`, `forced`, `overrides`, `skipped`, `details`: of the step, as its latest event says.

    `part`: what the reported name has beyond the dataset's (`day=2026-01-01`). `collided`: several runs or several
    datasets claim the id; `claimed_by` are the runs that say they wrote it.
    """

    id: str
    kind: str
    depth: int
    process: str | None = None
    job: str | None = None
    run_id: str | None = None
    version: str | None = None
    forced: bool = False
    overrides: list[str] = []
    skipped: list[Skipped] = []
    state: str | None = None
    event_time: dt.datetime | None = None
    started_at: dt.datetime | None = None
    ended_at: dt.datetime | None = None
    duration_ms: int | None = None
    dataset: str | None = None
    part: dict[str, str] | None = None
    fingerprint: str | None = None
    bytes: int | None = None
    collided: bool = False
    claimed_by: list[RunRef] = []
    details: dict[str, msgspec.Raw] = {}


class CorrelationEdge(msgspec.Struct, gc=False):
    """`refused`: it would close a loop over older edges. It is listed, but neither followed nor counted as hidden."""

    parent: str
    child: str
    refused: bool


class HiddenNodes(msgspec.Struct):
    """The number of nodes that are missing, and the reason. If `depth` was reached, the neighbours just beyond it are counted."""

    count: int
    reason: str | None


class Correlation(msgspec.Struct):
    """`matched`: as what the id was found. `notes`: what else there is to know, in words."""

    id: str
    matched: str
    roots: list[str]
    direction: str
    depth: int | str
    nodes: list[CorrelationNode]
    edges: list[CorrelationEdge]
    hidden: HiddenNodes
    notes: list[str]


async def correlation(database: Database, question: Question) -> Correlation:
    """Answer the question.

    Raises NotFound for an id that nothing is known of, InvalidQuestion for a direction or depth that makes no sense.
    """
    depth = _checked(question)
    async with database.snapshot() as connection:
        items = ItemRecords(connection, question.max_nodes)
        matched, rows, notes = await _roots(connection, items, question)
        walk = Walk([items], [items.keys[row.id] for row in rows], question.max_nodes)
        direction, limit = DIRECTIONS[question.direction], ALL if depth is None else depth
        await items.preload(walk.roots, direction, limit)
        await walk.go(direction, limit)
        shown = RecordNodes(RunRecords(connection), items)
        await shown.load(connection, walk.steps.keys())
        hidden = await _hidden(connection, question, depth, walk, [row.id for row in rows])
    texts = {key: str(items.by_key[key].id) for key in walk.steps}
    return Correlation(
        id=question.id,
        matched=matched,
        roots=[str(row.id) for row in rows],
        direction=question.direction,
        depth="all" if depth is None else depth,
        nodes=sorted((_node(shown, items, walk, key, text) for key, text in texts.items()), key=lambda one: (one.depth, one.kind, one.id)),
        edges=sorted(
            (CorrelationEdge(texts[s], texts[t], link.refused) for (s, t), link in walk.links.items() if s in texts and t in texts),
            key=lambda edge: (edge.parent, edge.child),
        ),
        hidden=hidden,
        notes=notes,
    )  # fmt: skip


async def drawn(database: Database, question: Question, fan: int) -> str:
    """The answer as a Mermaid flowchart, in which of so many alike none is folded. Raises as `correlation` does."""
    answer = await correlation(database, question)
    return mermaid.flowchart(as_lineage(msgspec.json.decode(msgspec.json.encode(answer))), fan) + "\n"


def _checked(question: Question) -> int | None:
    """The depth as a number; None for all."""
    if question.direction not in DIRECTIONS:
        raise InvalidQuestion(
            f"direction {question.direction!r} is not one of {', '.join(DIRECTIONS)}", direction=question.direction
        )
    if question.depth is None:
        return store.BOUND
    text = str(question.depth).strip().lower()
    if text == "all":
        return None
    if not re.fullmatch(r"\d{1,6}", text, re.ASCII):
        raise InvalidQuestion(f"depth {text[:40]!r} is neither a number nor `all`", depth=text[:40])
    return int(text)


async def _roots(
    connection: Connection, items: ItemRecords, question: Question
) -> tuple[str, list[store.Node], list[str]]:
    """Return the kind of thing that the id was found as, the roots, and notes about them."""
    text = question.id.strip()
    if fingerprint := version.fingerprint(text):
        rows, notes = await items.newest_contents(fingerprint)
        if not rows:
            raise NotFound(f"no event reports the content {fingerprint} as read or written", fingerprint=fingerprint)
        return "FINGERPRINT", rows, notes
    if text.startswith("dataset:"):
        newest = await store.newest_of_dataset(connection, (await node_row(connection, text)).id)
        if newest is None:
            raise NotFound(
                f"no written version of {text!r} has an id, a version or a fingerprint; "
                "see its sources with `headwater lineage`",
                node=text,
            )
        return "DATASET", await items.load([newest]), ["the newest version of the dataset is the root"]
    id_, _ = version.run_id(text)
    rows = await items.load(await store.by_item_or_run(connection, id_))
    if not rows:
        raise await _unknown(connection, text, id_)
    found, of_run = [row for row in rows if row.id == id_], [row for row in rows if row.id != id_]
    notes = []
    if len(of_run) > 1:
        notes.append(f"{len(of_run)} jobs have a run with this id; all are roots")
    if found and of_run:
        notes.append("an item and a run have this id; both are roots")
    return found[0].kind if found else "RUN", rows, notes


async def _unknown(connection: Connection, text: str, id_: uuid.UUID) -> NotFound:
    shown = text if len(text) <= 100 else f"{text[:100]}…"
    if await runs.by_run_id(connection, id_):
        return NotFound(
            f"run {shown!r} is known, and names no item, no version and no step before it; "
            "`headwater lineage` knows what it read",
            run=shown,
        )
    return NotFound(f"{shown!r} is no item, run, fingerprint or dataset that is known here", id=shown)


async def _hidden(
    connection: Connection, question: Question, depth: int | None, walk: Walk, roots: list[uuid.UUID]
) -> HiddenNodes:
    if walk.capped:
        up, down = question.direction != "descendants", question.direction != "ancestors"
        total = len(roots) + await store.how_many(connection, roots, up=up, down=down, depth=depth)
        return HiddenNodes(total - len(walk.steps), f"max_nodes={question.max_nodes} reached")
    beyond = len(walk.hidden())
    return HiddenNodes(beyond, f"depth={depth} reached" if beyond else None)


def _node(shown: RecordNodes, items: ItemRecords, walk: Walk, key: Key, id_: str) -> CorrelationNode:
    row = items.by_key[key]
    made = CorrelationNode(
        id=id_, kind=row.kind, depth=walk.steps[key], event_time=row.at, bytes=row.bytes,
        fingerprint=row.external_version, collided=row.collided,
    )  # fmt: skip
    if isinstance(key, RunKey):
        made.run_id, job, run = str(key.run), shown.names.get(key.job), shown.runs.get(key)
        if job is not None:
            made.job, made.process = job.node_id, job.name
        if run is not None:
            made.state, made.started_at, made.ended_at = run.state.name, run.began, run.ended_at
            made.duration_ms, made.event_time = node.duration_ms(run), run.last_event_at
        if (step := shown.steps.get(key)) is not None:
            made.version, made.forced, made.overrides = step.version, step.forced, step.overrides
            made.skipped, made.details = step.skipped, step.details
    else:
        dataset = shown.dataset(row)
        made.dataset, made.part = dataset.node_id if dataset else None, part_of(row.part)
        if row.collided:
            made.claimed_by = shown.claims_of(row)
    return made
