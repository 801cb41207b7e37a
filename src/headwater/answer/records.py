"""The lineage of single runs, versions, items, files and instances: one walk, over all that events and schedules say of them.

Which version a run read is known exactly where it names a version, an item or a content; else by the time at which it began, and the claim says
so. A run that names the items which it read of a dataset has read nothing else of it.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping

import msgspec

from headwater.answer.lineage.item_records import ItemRecords
from headwater.answer.lineage.lineage_answer import AnswerEdge, Claim, FoundObject, Hidden, Lineage, Node, VersionNode
from headwater.answer.lineage.record_nodes import RecordNodes
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Instances, Item, Key, Link, Place, Source, Walk
from headwater.answer.status.instance_links import InstanceLinks, instances_of
from headwater.errors import NotFound
from headwater.store.database import Connection
from headwater.store.lineage import correlation as item_store
from headwater.store.lineage import run_lineage as store
from headwater.store.lineage.runs import RunKey


class Question(msgspec.Struct, frozen=True):
    """`depth` counts versions: 1 is what a run itself read and wrote."""

    direction: str = "both"
    depth: int = 3
    max_nodes: int = 2000
    as_of: dt.datetime | None = None


class Records:
    """A walk from one or more records, and what it stands on."""

    def __init__(self, connection: Connection, question: Question) -> None:
        self._connection, self._question = connection, question
        self.runs = RunRecords(connection, question.as_of, by_item=True)
        self.items = ItemRecords(connection, question.max_nodes, question.as_of, versions=self.runs.versions)
        self.nodes = RecordNodes(self.runs, self.items)
        self.schedule: InstanceLinks | None = None
        self.notes: list[str] = []
        self._roots: list[Key] = []

    async def begin(self, subjects: Collection[FoundObject]) -> None:
        """Find the roots. Raises NotFound for what was not known at the time."""
        for one in subjects:
            if one.type == "RUN":
                await self._begin_run(uuid.UUID(one.id))
            elif one.type == "VERSION":
                await self._begin_version(uuid.UUID(one.id))
            elif one.type == "ITEM":
                self._roots += [self.items.keys[row.id] for row in await self.items.load([uuid.UUID(one.id)])]
            elif one.type == "CONTENT":
                await self._begin_content(one.id)
        if instances := [one for one in subjects if one.type == "INSTANCE"]:
            await self._begin_instances(instances)
        elif len(subjects) > 1:
            self.notes.append(
                f"{' and '.join(sorted(one.type.lower() for one in subjects))} have this id; all are roots"
            )

    async def _begin_run(self, run: uuid.UUID) -> None:
        keys = await store.family(self._connection, run, self.runs.as_of, self._question.max_nodes + 1)
        self._roots += await self.runs.load_runs(keys)
        jobs = len({key.job for key in keys if key.run == run})
        if not keys:
            raise NotFound(f"run {run} was not yet reported at {self.runs.as_of}", run=str(run))
        if jobs > 1:
            self.notes.append(f"{jobs} jobs have a run with this id; all are roots")

    async def _begin_version(self, id_: uuid.UUID) -> None:
        self.runs.versions |= await store.versions(self._connection, [id_])
        self._roots.append(Place(self.runs.versions[id_].dataset, id_))
        if self._question.direction != "upstream":
            within = await self.items.load([item for _, item in await item_store.written_in(self._connection, [id_])])
            self._roots += [self.items.keys[row.id] for row in within]

    async def _begin_content(self, fingerprint: str) -> None:
        rows, notes = await self.items.newest_contents(fingerprint)
        self.notes += notes
        self._roots += [self.items.keys[row.id] for row in rows]

    async def _begin_instances(self, some: Collection[FoundObject]) -> None:
        entity = next(one.entity for one in some)
        assert entity is not None
        texts = [one.instance for one in some if one.instance is not None]
        self.schedule = await InstanceLinks.load(
            self._connection, entity, texts, self._question.as_of, self._question.direction
        )
        self._roots.append(Instances(entity))
        # The version that the instance is: it is walked from, too.
        await self.schedule.pair(self.runs)
        self._roots += self.schedule.versions

    async def walk(self) -> Walk:
        """Walk from the roots."""
        sources: list[Source] = [self.runs, self.items]
        if self.schedule is not None:
            sources.append(self.schedule)
        walk = Walk(sources, self._roots, self._question.max_nodes)
        limit = max(0, 2 * self._question.depth - isinstance(self._roots[0], RunKey))
        await self.items.preload(walk.roots, self._question.direction, limit)
        await walk.go(self._question.direction, limit)
        if self._question.direction != "downstream":
            await self.runs.join_writers(walk)
        await self.items.load_versions({key for key in walk.steps if isinstance(key, Item)})
        await self._join_items(walk)
        await self.nodes.load(self._connection, walk.steps.keys())
        return walk

    async def _join_items(self, walk: Walk) -> None:
        """Add the item that a version is, and the version that an item is, where the walk met one of them alone.

        They are one node; so it has one description, from whichever end it was met.
        """
        met = {row.id for one in self.items.written_in.values() for row, _ in one}
        places = {key.version: key for key in walk.steps if isinstance(key, Place) and key.version not in met}
        found = await item_store.written_in(self._connection, [id_ for id_ in places if id_ is not None])
        await self.items.load({item for _, item in found})
        await self.items.load_versions({Item(item) for _, item in found})
        for item, versions in self.items.written_in.items():
            if len(versions) == 1 and versions[0][1]:
                place = Place(versions[0][0].dataset, versions[0][0].id)
                hops = [walk.steps[key] for key in (item, place) if key in walk.steps]
                walk.steps |= dict.fromkeys((item, place), min(hops, key=abs)) if hops else {}


async def record_lineage(connection: Connection, question: Question, subjects: Collection[FoundObject]) -> Lineage:
    """Return the lineage of a node that is no dataset and no job. Raises NotFound for one that was not known at the time."""
    records = Records(connection, question)
    await records.begin(subjects)
    walk = await records.walk()
    ids = records.nodes.ids(walk)
    together: dict[str, list[Key]] = defaultdict(list)
    for key in walk.steps:
        if not isinstance(key, Instances):
            together[ids[key]].append(key)
    nodes: dict[str, Node] = {id_: records.nodes.node(walk, id_, keys) for id_, keys in together.items()}
    await _name_instances(connection, records, together, nodes)
    stands_for = {key: [id_] for key, id_ in ids.items()} | _scheduled(records, walk, nodes)
    hidden = walk.hidden()
    reason = f"max_nodes={question.max_nodes} reached" if walk.capped else f"depth={question.depth} reached"
    notes = list(records.notes)
    if records.runs.unchecked:
        notes.append(f"{records.runs.unchecked} jobs have more runs that may have read a version than were checked")
    roots = list(dict.fromkeys(id_ for key in walk.roots for id_ in stands_for.get(key, ())))
    return Lineage(
        root=roots[0],
        roots=roots,
        direction=question.direction,
        depth=question.depth,
        as_of=question.as_of or dt.datetime.now(dt.UTC),
        nodes=sorted(nodes.values(), key=lambda n: (n.hop, n.id)),
        edges=_with_own_parts(_edges(records, walk, stands_for), nodes),
        column_edges=[],
        hidden=Hidden(len(hidden) + walk.capped, reason if hidden or walk.capped else None, walk.capped > 0),
        notes=notes,
    )


def _scheduled(records: Records, walk: Walk, nodes: dict[str, Node]) -> dict[Key, list[str]]:
    """Add the instances that a schedule leads to: those that are the current content of a version of the answer are that node."""
    schedule, found = records.schedule, dict[Key, list[str]]()
    if schedule is None:
        return found
    versions = {
        one.instances[0]: id_ for id_, one in nodes.items() if isinstance(one, VersionNode) and len(one.instances) == 1
    }
    for key in [key for key in walk.steps if isinstance(key, Instances)]:
        names = schedule.names(key)
        found[key] = [versions[name] for name in names if name in versions]
        made = schedule.node(key, walk.hop(key), {name for name in names if name in versions})
        if made is not None:
            made.hidden_upstream, made.hidden_downstream = (
                walk.hidden_at(key, way) for way in ("upstream", "downstream")
            )
            nodes[made.id] = made
            found[key].append(made.id)
        for id_ in found[key]:
            nodes[id_].hop = min(nodes[id_].hop, walk.hop(key), key=abs)
    return found


async def _name_instances(
    connection: Connection, records: Records, together: Mapping[str, list[Key]], nodes: Mapping[str, Node]
) -> None:
    """Say of which instances a version is the current one, where a run wrote one version alone, in the answer or not."""
    writers = {
        id_: writer
        for id_, keys in together.items()
        for key in keys
        if isinstance(key, Place) and (writer := records.runs.writer_of(key)) is not None
    }
    made = await instances_of(connection, {str(writer.run) for writer in writers.values()})
    written = await records.runs.written_by({writer for writer in writers.values() if str(writer.run) in made})
    for id_, writer in writers.items():
        if isinstance(one := nodes[id_], VersionNode) and len(written.get(writer, ())) == 1:
            one.instances = made[str(writer.run)]


def _edges(records: Records, walk: Walk, stands_for: Mapping[Key, list[str]]) -> list[AnswerEdge]:
    found: dict[tuple[str, str], AnswerEdge] = {}
    for (source, target), link in walk.links.items():
        starts, ends = stands_for.get(source), stands_for.get(target)
        if not starts or not ends or starts == ends:
            continue
        claim = _claim(records, source, target, link)
        for start in starts:
            for end in ends:
                if start != end:
                    _add_edge(found, start, end, link, claim)
    return sorted(found.values(), key=lambda edge: (edge.source, edge.target))


def _add_edge(found: dict[tuple[str, str], AnswerEdge], source: str, target: str, link: Link, claim: Claim) -> None:
    edge = found.get((source, target))
    if edge is None:
        edge = AnswerEdge(source, target, claim.origin, claim.since, claim.since, link.relation, [claim])
        found[source, target] = edge
    elif claim not in edge.claims:
        edge.claims.append(claim)
        if edge.relation in {"IS", "PART"}:
            edge.relation = link.relation
        if claim.since is not None:
            edge.first_seen = min(edge.first_seen or claim.since, claim.since)
            edge.last_seen = max(edge.last_seen or claim.since, claim.since)
        if edge.origin == "DECLARED":
            edge.origin = claim.origin
    edge.refused = edge.refused or link.refused
    edge.parts = edge.parts or [msgspec.json.decode(part) for part in link.parts]


def _with_own_parts(edges: list[AnswerEdge], nodes: Mapping[str, Node]) -> list[AnswerEdge]:
    """The edges, with the part of the version at their end alone where it is a part: its run may have written others beside it."""
    own = {id_: one.part for id_, one in nodes.items() if isinstance(one, VersionNode) and one.part}
    for edge in edges:
        if edge.parts and (part := own.get(edge.target) or own.get(edge.source)):
            edge.parts = [part]
    return edges


def _claim(records: Records, source: Key, target: Key, link: Link) -> Claim:
    if link.by is not None:
        return Claim("SCHEDULE", link.evidence, link.by, link.since)
    run = target if link.relation == "READ" else source
    row = records.runs.rows.get(run) if isinstance(run, RunKey) else None
    since = link.since
    if since is None and link.relation == "WROTE" and isinstance(target, Place) and target.version is not None:
        since = records.runs.versions[target.version].written_at
    if since is None and row is not None:
        since = row.began
    by = f"run:{run.run}" if isinstance(run, RunKey) else None
    return Claim("DECLARED" if link.declared else "OBSERVED", link.evidence, by, since)
