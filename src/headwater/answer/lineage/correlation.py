"""Where a correlated item comes from and what became of it: events, details and lineage of all ancestors and descendants in one request.

Nodes are runs (RUN), what they say they wrote or read by an id (ITEM), and content known by its fingerprint or version (CONTENT); the closure table
has every pair of them with the shortest depth, so a question of any width and depth costs a fixed number of statements.
Refuses to guess: what is not in an event is not here, and an edge that would close a loop is shown as refused and not followed.
"""

import datetime as dt
import re
import uuid
from typing import Any

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.runs import RunRef
from headwater.errors import InvalidQuestion, NotFound
from headwater.graph import mermaid
from headwater.model import version
from headwater.store.database import Connection, Database
from headwater.store.lineage import correlation as store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage import runs
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.run_lineage import RunKey
from headwater.store.lineage.runs import RunRow

DIRECTIONS = ("both", "ancestors", "descendants")
STEP = "headwater_step"
# Every fingerprint is one of these; other versions mean something only with the name of their dataset.
_FINGERPRINT = re.compile(r"xxh3-128(?:-[a-z0-9]+)?:[0-9a-fA-F]{32}")
# More nodes than there are.
_MANY = 1_000_000_000
# One content may lie in many datasets: so many are roots, the newest.
_MOST_ROOTS = 100


class Question(msgspec.Struct, frozen=True):
    """`id`: an item, a run, a fingerprint or a dataset's node id. `depth`: steps from item to run or run to item; None is as far as the closure
    table reaches, `all` is everything."""

    id: str
    direction: str = "both"
    depth: int | str | None = None
    max_nodes: int = 2000


class Skipped(msgspec.Struct):
    """A content that a step skipped, because this run had imported it."""

    fingerprint: str
    run_id: str | None


class CorrelationNode(msgspec.Struct, kw_only=True):
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


class CorrelationEdge(msgspec.Struct):
    """`refused`: it would close a loop over older edges. It is listed, but neither followed nor counted as hidden."""

    parent: str
    child: str
    refused: bool


class HiddenNodes(msgspec.Struct):
    """How many nodes are missing, and why; with `depth` reached, the neighbours just beyond are counted."""

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


class _Roots(msgspec.Struct):
    matched: str
    rows: list[store.Node]
    notes: list[str]


async def correlation(database: Database, question: Question) -> Correlation:
    """Answer the question.

    Raises NotFound for an id that nothing is known of, InvalidQuestion for a direction or depth that makes no sense.
    """
    depth = _checked(question)
    async with database.snapshot() as connection:
        found = await _roots(connection, question)
        reached = await _reached(connection, [row.id for row in found.rows], question, depth)
        return await _answer(connection, question, depth, found, reached)


async def drawn(database: Database, question: Question, fan: int) -> str:
    """The answer as a Mermaid flowchart, in which of so many alike none is folded. Raises as `correlation` does."""
    answer = await correlation(database, question)
    return mermaid.trace(msgspec.json.decode(msgspec.json.encode(answer)), fan)


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


def fingerprint_of(text: str) -> str | None:
    """The text as a fingerprint, in the spelling it is kept in; None when it is none."""
    return text.lower() if _FINGERPRINT.fullmatch(text) else None


async def _roots(connection: Connection, question: Question) -> _Roots:
    text = question.id.strip()
    if fingerprint := fingerprint_of(text):
        rows = await store.nodes(connection, await store.of_version(connection, fingerprint))
        if not rows:
            raise NotFound(
                f"no event reports the content {fingerprint} as read or written",
                fingerprint=fingerprint,
            )
        rows.sort(key=lambda row: (row.at, row.id), reverse=True)
        places = len({(row.dataset_id, row.part) for row in rows})
        notes = [f"the content lies in {places} places; all are roots"] if places > 1 else []
        if len(rows) > _MOST_ROOTS:
            notes = [f"the content was met {len(rows)} times in {places} places; the newest {_MOST_ROOTS} are roots"]
        return _Roots("FINGERPRINT", rows[:_MOST_ROOTS], notes)
    if text.startswith("dataset:"):
        newest = await store.newest_of_dataset(connection, (await node_row(connection, text)).id)
        if newest is None:
            raise NotFound(
                f"no written version of {text!r} has an id, a version or a fingerprint; "
                "see its sources with `headwater lineage`",
                node=text,
            )
        return _Roots(
            "DATASET", await store.nodes(connection, [newest]), ["the newest version of the dataset is the root"]
        )
    id_, _ = version.run_id(text)
    rows = await store.nodes(connection, await store.by_item_or_run(connection, id_))
    if not rows:
        raise await _unknown(connection, text, id_)
    items, of_run = [row for row in rows if row.id == id_], [row for row in rows if row.id != id_]
    notes = []
    if len(of_run) > 1:
        notes.append(f"{len(of_run)} jobs have a run with this id; all are roots")
    if items and of_run:
        notes.append("an item and a run have this id; both are roots")
    return _Roots(items[0].kind if items else "RUN", rows, notes)


async def _unknown(connection: Connection, text: str, id_: uuid.UUID) -> NotFound:
    shown = text if len(text) <= 100 else f"{text[:100]}…"
    if await runs.by_run_id(connection, id_):
        return NotFound(
            f"run {shown!r} is known, and names no item, no version and no step before it; "
            "`headwater run lineage` knows what it read",
            run=shown,
        )
    return NotFound(f"{shown!r} is no item, run, fingerprint or dataset that is known here", id=shown)


class _Reached(msgspec.Struct):
    """Nodes with their depth, the nearest first, and how many there are in all."""

    depths: dict[uuid.UUID, int]
    total: int


async def _reached(connection: Connection, roots: list[uuid.UUID], question: Question, depth: int | None) -> _Reached:
    """Depths of the reached nodes. A node above one root and below another has the nearer depth."""
    limit = question.max_nodes + len(roots) + 1
    found: dict[uuid.UUID, int] = {}
    up, down = question.direction != "descendants", question.direction != "ancestors"
    if up:
        found = {id_: -at for id_, at in await store.related(connection, roots, "ancestors", depth, limit)}
    for id_, at in await store.related(connection, roots, "descendants", depth, limit) if down else ():
        if id_ not in found or at < -found[id_]:
            found[id_] = at
    first = set(roots)
    found |= dict.fromkeys(roots, 0)
    nearest = sorted(found.items(), key=lambda one: (one[0] not in first, abs(one[1]), one[1], one[0]))
    total = len(nearest)
    if total > question.max_nodes:
        total = len(roots) + await _how_many(connection, roots, depth, up=up, down=down)
    return _Reached(dict(nearest[: question.max_nodes]), total)


async def _how_many(connection: Connection, roots: list[uuid.UUID], depth: int | None, *, up: bool, down: bool) -> int:
    """How many nodes there are beside the roots."""
    if depth is not None and depth <= store.BOUND:
        return await store.how_many(connection, roots, up=up, down=down, depth=depth)
    found: set[uuid.UUID] = set()
    if up:
        found |= {id_ for id_, _ in await store.related(connection, roots, "ancestors", depth, _MANY)}
    if down:
        found |= {id_ for id_, _ in await store.related(connection, roots, "descendants", depth, _MANY)}
    return len(found - set(roots))


async def _answer(
    connection: Connection, question: Question, depth: int | None, found: _Roots, reached: _Reached
) -> Correlation:
    rows = await store.nodes(connection, reached.depths)
    edges = await store.edges_among(connection, reached.depths)
    known = await run_store.runs(connection, {key for row in rows if (key := _key(row))}, "infinity")
    told = await run_log.latest(connection, known.values(), STEP)
    writers = await store.writers(connection, [row.id for row in rows if row.collided])
    datasets = {row.dataset_id for row in rows if row.dataset_id}
    canonical = await name_store.canonical(connection, datasets)
    jobs = {row.job_id for row in rows if row.job_id} | {job for claims in writers.values() for _, job in claims}
    named = await node_store.by_ids(connection, jobs | {canonical.get(id_, id_) for id_ in datasets})
    texts = {row.id: str(row.id) for row in rows}
    nodes = []
    for row in rows:
        made = CorrelationNode(
            id=texts[row.id], kind=row.kind, depth=reached.depths[row.id], event_time=row.at, bytes=row.bytes,
            fingerprint=row.external_version, collided=row.collided,
            claimed_by=[RunRef(str(run), named[job].node_id) for run, job in writers.get(row.id, ())],
        )  # fmt: skip
        if row.dataset_id and (dataset := named.get(canonical.get(row.dataset_id, row.dataset_id))):
            made.dataset, made.part = dataset.node_id, _part(row.part)
        if key := _key(row):
            made.run_id = str(key[0])
            _run(made, named.get(key[1]), known.get(key), told.get(key))
        nodes.append(made)
    return Correlation(
        id=question.id,
        matched=found.matched,
        roots=[str(row.id) for row in found.rows],
        direction=question.direction,
        depth="all" if depth is None else depth,
        nodes=sorted(nodes, key=lambda one: (one.depth, one.kind, one.id)),
        edges=[CorrelationEdge(texts[edge.parent], texts[edge.child], edge.refused) for edge in edges],
        hidden=await _hidden(connection, question, depth, reached),
        notes=found.notes,
    )


async def _hidden(connection: Connection, question: Question, depth: int | None, reached: _Reached) -> HiddenNodes:
    missing = reached.total - len(reached.depths)
    if missing or depth is None:
        return HiddenNodes(missing, f"max_nodes={question.max_nodes} reached" if missing else None)
    upper = [id_ for id_, at in reached.depths.items() if at <= 0] if question.direction != "descendants" else []
    lower = [id_ for id_, at in reached.depths.items() if at >= 0] if question.direction != "ancestors" else []
    beyond = await store.just_beyond(connection, upper, lower, reached.depths)
    return HiddenNodes(beyond, f"depth={depth} reached" if beyond else None)


def _part(text: str | None) -> dict[str, str] | None:
    """Which part of its dataset; None for the whole, and for a text too long to have been kept whole."""
    try:
        return msgspec.json.decode(text, type=dict[str, str]) if text else None
    except msgspec.DecodeError:
        return None


def _key(row: store.Node) -> RunKey | None:
    """The run that a node is; None for what is none."""
    return (row.run_id, row.job_id) if row.kind == "RUN" and row.run_id and row.job_id else None


def _run(made: CorrelationNode, job: NodeRow | None, run: RunRow | None, step: bytes | None) -> None:
    if job is not None:
        made.job, made.process = job.node_id, job.name
    if run is not None:
        made.state, made.started_at, made.ended_at = run.state.name, run.began, run.ended_at
        made.duration_ms, made.event_time = node.duration_ms(run), run.last_event_at
    said = step_of(step)
    made.version, made.forced, made.overrides = said.version, said.forced, said.overrides
    made.skipped, made.details = said.skipped, said.details


class Step(msgspec.Struct):
    """What a run's `headwater_step` facet says."""

    version: str | None
    forced: bool
    overrides: list[str]
    skipped: list[Skipped]
    details: dict[str, msgspec.Raw]


def step_of(body: bytes | None) -> Step:
    """What the facet says; what is not of its shape counts as not said."""
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
