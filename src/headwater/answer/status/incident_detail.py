"""One open incident in full: the way from its cause to each object that it hits, as a graph; what happened when; whom to tell."""

import datetime as dt
import itertools
import uuid
from collections.abc import Iterable

import msgspec

from headwater.answer.lineage.find import parents_of_jobs
from headwater.answer.lineage.lineage import Question, lineage
from headwater.answer.lineage.lineage_answer import AnswerEdge
from headwater.answer.lineage.node import DatasetNode, JobNode
from headwater.answer.lineage.runs import runs
from headwater.answer.status import incidents, schedules
from headwater.answer.status.declared import declared
from headwater.answer.status.open_incidents import OpenIncident, open_incident
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.graph.ways import shortest_ways
from headwater.model.tags import TEAM
from headwater.store.database import Database
from headwater.store.lineage import nodes as node_store

_ENTITY = "instances:"
_DEPTH, _MOST_NODES = 100, 5000
_MOST_RUNS = 50


class WayNode(msgspec.Struct, frozen=True):
    """`id`: a node id, or `instances:ENTITY`. `role`: cause, hit or between. `state`: what is the matter with it; null if nothing is known to be.
    `parent`: the job above a job.
    """

    id: str
    label: str
    role: str
    state: str | None
    since: dt.datetime | None
    owners: list[str]
    teams: list[str]
    parent: str | None


class WayEdge(msgspec.Struct, frozen=True):
    source: str
    target: str


class TimelineEntry(msgspec.Struct, frozen=True):
    """`state`: of a run or object from then on. `id`: of the object, or `run:ID`. `text`: more about it, or empty."""

    at: dt.datetime
    state: str
    text: str
    id: str


class IncidentDetail(msgspec.Struct, frozen=True):
    """`nodes` and `edges`: one shortest way from the cause to each object hit. `unreached`: those hit to which no way is recorded within
    100 hops and 5,000 nodes. `timeline`: the oldest first; `earlier_runs`: more runs than it lists. `teams`: of all that is drawn.
    """

    incident: OpenIncident
    nodes: list[WayNode]
    edges: list[WayEdge]
    unreached: list[str]
    timeline: list[TimelineEntry]
    earlier_runs: int
    teams: list[str]


class _Named(msgspec.Struct, frozen=True):
    """A node of the graph that the ways are searched in."""

    label: str
    owners: list[str] = []
    teams: list[str] = []


class _Surroundings(msgspec.Struct):
    """The graph to search in: its edges, the names of its nodes, and where the cause is."""

    edges: set[tuple[str, str]]
    names: dict[str, _Named]
    causes: list[str]


async def incident_detail(database: Database, id_: str) -> IncidentDetail:
    """Describe the open incident with this id. NotFound if there is none, or no longer."""
    found = await open_incident(database, id_)
    timeline, earlier = [], 0
    if found.kind == "wrong":
        one = await incidents.incident(database, uuid.UUID(found.id))
        around = await _around_verdict(database, one)
        timeline = _verdict_timeline(one)
    else:
        around = await _around_object(database, found)
        if found.kind in {"failed", "stalled"}:
            timeline, earlier = await _runs_since_good(database, found.id)
    ways = shortest_ways(around.edges, around.causes, [each.id for each in found.hit])
    pairs = sorted({pair for way in ways.values() for pair in itertools.pairwise(way)})
    drawn = list(dict.fromkeys([*around.causes, *(id_ for way in ways.values() for id_ in way)]))
    hit = {each.id: each for each in reversed(found.hit)}
    async with database.snapshot() as connection:
        parents = await parents_of_jobs(connection, drawn)
    nodes = []
    for each in drawn:
        named, one_hit = around.names.get(each, _Named(each)), hit.get(each)
        is_cause = each in around.causes
        nodes.append(
            WayNode(
                each,
                one_hit.label if one_hit is not None else named.label,
                "cause" if is_cause else "between" if one_hit is None else "hit",
                one_hit.kind if one_hit is not None else found.kind if is_cause else None,
                one_hit.since if one_hit is not None else found.since if is_cause else None,
                sorted({*named.owners, *(one_hit.owners if one_hit is not None else ())}),
                named.teams,
                parents.get(each),
            )
        )
    timeline += [TimelineEntry(each.since, each.kind, "", each.id) for each in found.hit if each.since]
    if found.since is not None and found.kind in {"doubted", "late"}:
        timeline.append(TimelineEntry(found.since, found.kind, found.text, found.id))
    return IncidentDetail(
        found,
        nodes,
        [WayEdge(*pair) for pair in pairs],
        [each.id for each in found.hit if each.id not in ways],
        sorted(timeline, key=lambda entry: (entry.at, entry.id)),
        earlier,
        sorted({team for each in nodes for team in each.teams}),
    )


async def _around_object(database: Database, found: OpenIncident) -> _Surroundings:
    """The lineage downstream of a job or dataset, with the parents of its jobs and the entities its datasets hold."""
    cause = found.cause.id if found.kind == "policy" else found.id
    answer = await lineage(
        database,
        Question(cause, "downstream", _DEPTH, max_nodes=_MOST_NODES),
    )
    nodes = [node for node in answer.nodes if isinstance(node, DatasetNode | JobNode)]
    names = {node.id: _Named(node.label, node.owner_names, _teams(node.tags)) for node in nodes}
    edges = {(edge.source, edge.target) for edge in answer.edges if isinstance(edge, AnswerEdge)}
    hit = {each.id for each in found.hit}
    for node in nodes:
        # The run of a package or DAG fails because one of its jobs did, and its jobs fail because it does.
        if isinstance(node, JobNode) and node.parent is not None:
            if node.parent == cause:
                edges.add((node.parent, node.id))
            elif node.parent in hit:
                edges.add((node.id, node.parent))
    entities = {id_.removeprefix(_ENTITY) for id_ in hit if id_.startswith(_ENTITY)}
    if entities:
        async with database.snapshot() as connection:
            held = await declared(connection)
            homes = await schedules.homes(connection, held, entities & held.declared.keys())
            rows = await node_store.by_ids(connection, {id_ for some in homes.values() for id_ in some})
        for entity, datasets in homes.items():
            edges |= {(rows[id_].node_id, _ENTITY + entity) for id_ in datasets if id_ in rows}
        _add_needs(edges, names, held, entities)
    return _Surroundings(edges, names, [cause])


async def _around_verdict(database: Database, one: incidents.OneIncident) -> _Surroundings:
    """The objects that a verdict condemned: by recorded reads, and by the needs of the entities it marked."""
    edges: set[tuple[str, str]] = set()
    names: dict[str, _Named] = {}
    causes = [_ENTITY + entity for entity in one.roots]
    if one.reads is not None:
        contacts = {each.dataset: each for each in one.reads.hit}
        for run in one.reads.runs:
            names[run.job] = _Named(run.label)
            if run.because is not None:
                edges.add((run.because, run.job))
            else:
                causes.append(run.job)
        for version in one.reads.versions:
            contact = contacts.get(version.dataset)
            names[version.dataset] = (
                _Named(version.label, contact.owners, contact.teams) if contact else _Named(version.label)
            )
            if version.because is None:
                causes.append(version.dataset)
            elif version.job is not None:
                edges.add((version.job, version.dataset))
        for each in one.reads.repeat:
            edges |= {(each.job, _ENTITY + entity) for entity in each.entities}
    marked = {each.entity for each in one.entities}
    if marked:
        async with database.snapshot() as connection:
            _add_needs(edges, names, await declared(connection), marked)
    return _Surroundings(edges, names, list(dict.fromkeys(causes)))


def _add_needs(
    edges: set[tuple[str, str]], names: dict[str, _Named], held: StoredDeclarations, entities: Iterable[str]
) -> None:
    """Add these entities, and their needs among each other."""
    wanted = set(entities) & held.declared.keys()
    for entity in wanted:
        one = held.declared[entity]
        names[_ENTITY + entity] = _Named(entity, list(one.owners), sorted(one.tags.get(TEAM, ())))
        edges |= {
            (_ENTITY + link.upstream, _ENTITY + entity)
            for link in held.graph.upstream(entity)
            if link.upstream in wanted
        }


def _teams(tags: Iterable[str]) -> list[str]:
    pairs = (tag.partition(":") for tag in tags)
    return sorted({value for key, _, value in pairs if key.casefold() == TEAM and value})


def _verdict_timeline(one: incidents.OneIncident) -> list[TimelineEntry]:
    view, found = one.incident, []
    for run in one.reads.runs if one.reads is not None else ():
        if run.because is None:
            found.append(TimelineEntry(run.started_at, "wrong", f"run of {run.label} began", f"run:{run.run_id}"))
    found.append(TimelineEntry(view.opened_at, "open", f"opened by {view.opened_by}", str(view.id)))
    for at, state in ((view.fixed_at, "fixed"), (view.closed_at, "retracted")):
        if at is not None:
            found.append(TimelineEntry(at, state, view.note or state, str(view.id)))
    return found


async def _runs_since_good(database: Database, job: str) -> tuple[list[TimelineEntry], int]:
    """The job's runs since its last good one, that one included, and how many more there are."""
    latest = await runs(database, job=job, state=None, parent=None, limit=_MOST_RUNS, offset=0)
    found = []
    for run in latest.runs:
        text = run.stalled_reason or run.error or ""
        state = "stalled" if run.stalled or run.lost else run.effective_state.lower()
        found.append(TimelineEntry(run.ended_at or run.started_at, state, text, f"run:{run.id}"))
        if run.effective_state == "COMPLETED":
            return found, 0
    return found, max(latest.total - len(latest.runs), 0)
