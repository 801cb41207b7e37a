"""Marquez's graph of columns, out of the graph in memory: equal to `column_lineage.get`, which answers the rest: versions, and what people drew."""

import functools
import itertools
import uuid
from collections.abc import Collection, Hashable, Iterable, Mapping

import msgspec

from headwater.answer.lineage import node as shown_node
from headwater.answer.lineage.resident import Passing, ResidentGraph, Unanswerable
from headwater.answer.marquez import column_lineage, columns, node_ids, shapes
from headwater.answer.marquez.runs import first_version
from headwater.graph.adjacency import Adjacency, Direction, Missing, Spot, TooLarge
from headwater.graph.held_columns import Column, ColumnBlock, HeldColumns, MissingColumns
from headwater.model.lineage import Transformation
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import names
from headwater.store.marquez import marquez as rows

_MOST = 100_000
_KIND = "v1 columns"
_FIELD_BYTES = 400
_PLACE = b',"transformationDescription":null,"transformationType":null'
_encode = msgspec.json.Encoder().encode
_numbers = itertools.count()
_NOTHING: Mapping[Column, Transformation | None] = {}
_Pair = tuple[Spot, Spot]


class _Start(msgspec.Struct, frozen=True):
    """The datasets at which the walk begins, each with the columns that the id may mean. `field`: it means a column."""

    datasets: Mapping[uuid.UUID, tuple[str, ...]]
    field: bool


class _Field(msgspec.Struct, gc=False):
    """A column, encoded: its id as text, as the origin and destination of an edge; its node, and itself as an input, up to the transformation.

    `node`: its whole node as an answer showed it last, whose inputs and outputs were `links`; these name columns by `number`, which no two have, and
    not by the columns themselves, which would make cycles.
    """

    text: str
    origin: bytes
    destination: bytes
    before: bytes
    as_input: bytes
    number: int
    links: tuple[object, ...] = ()
    node: bytes = b""


class _Place(msgspec.Struct):
    """A dataset as its columns show it. `types`: of its schema's columns; None without a schema. `fields`: those that were shown."""

    namespace: str
    name: str
    version: str
    types: dict[str, str | None] | None
    hidden: bool
    fields: dict[str, _Field] = {}

    def field(self, name: str) -> _Field:
        text = node_ids.of_field(self.namespace, self.name, name)
        type_ = (self.types or {}).get(name)
        data = shapes.FieldData(
            namespace=self.namespace,
            dataset=self.name,
            dataset_version=self.version,
            field=name,
            field_type=type_ or "",
            transformation_description=None,
            transformation_type=None,
            input_fields=[],
        )
        node = shapes.FieldNode(id=text, type="DATASET_FIELD", data=data, in_edges=[], out_edges=[])
        source = shapes.FieldInput(
            namespace=self.namespace,
            dataset=self.name,
            dataset_version=self.version,
            field=name,
            transformation_description=None,
            transformation_type=None,
        )
        id_ = _encode(text)
        before, as_input = (_encode(one).partition(_PLACE)[0] for one in (node, source))
        return _Field(text, b'{"origin":%b,"destination":' % id_, id_ + b"}", before, as_input, next(_numbers))


class _HeldFields:
    """The columns of these pairs of a job and the dataset that it writes: a graph of fields, as `columns.FieldGraph` is."""

    def __init__(self, graph: Adjacency, held: HeldColumns, pairs: Iterable[_Pair]) -> None:
        self._graph = graph
        self._held = held
        self.into: dict[Spot, list[ColumnBlock]] = {}
        self._out_of: dict[Spot, list[ColumnBlock]] = {}
        for job, target in pairs:
            block = held.of_jobs[job][target]
            if block.drawn or not block.complete:
                raise Unanswerable
            if block.into:
                self.into.setdefault(target, []).append(block)
                for source in block.out_of:
                    self._out_of.setdefault(source, []).append(block)

    def number(self, dataset: uuid.UUID) -> Spot:
        return self._graph.spot(dataset, "DATASET")

    def whole(self) -> list[Spot]:
        """Return the datasets that something feeds as a whole."""
        return [spot for spot, blocks in self.into.items() if any("" in block.into for block in blocks)]

    def fields(self, number: Spot) -> list[str]:
        found = {field for block in self.into.get(number, ()) for field in block.into if field}
        return sorted(found.union(_place_of(number).types or ()))

    def inputs(self, field: Column) -> dict[Column, Transformation | None]:
        spot, name = field
        blocks = self.into.get(spot, ())
        if len(blocks) != 1:
            return _inputs(blocks, name)
        found = blocks[0].inputs.get(name)
        if found is None:
            found = _inputs(blocks, name)
            self._held.hold_inputs(blocks[0], name, found)
        return found

    def outputs(self, field: Column) -> set[Column]:
        found: set[Column] = set()
        spot, name = field
        for block in self._out_of.get(spot, ()):
            for link in block.out_of[spot].get(name, ()):
                if link.target_field:
                    found.add((block.target, link.target_field))
                else:
                    found.update((block.target, each) for each in self.fields(block.target))
        return found


def _inputs(blocks: Iterable[ColumnBlock], name: str) -> dict[Column, Transformation | None]:
    found: dict[Column, Transformation | None] = {}
    for block in blocks:
        for links in (block.into.get(name, ()), block.into.get("", ())):
            for link in links:
                if not link.source_field:
                    continue
                key = link.source, link.source_field
                for _, how in link.ways:
                    if key not in found or columns.rank(how) < columns.rank(found[key]):
                        found[key] = how
    return found


async def get(graph: ResidentGraph, node_id: str, depth: int, with_downstream: bool) -> bytes | None:
    """Return the encoded graph of columns (`shapes.ColumnGraph`); None: ask the reference. Raises NotFound."""
    if not node_id.startswith(("dataset:", "datasetField:", "job:")) or "#" in node_id:
        return None
    return await graph.answer(_ColumnsFace(node_id, max(depth, 0), with_downstream))


class _ColumnsFace:
    most = _MOST

    def __init__(self, node_id: str, depth: int, with_downstream: bool) -> None:
        self.node_id, self.depth, self.with_downstream = node_id, depth, with_downstream

    @property
    def key(self) -> Hashable:
        return self.node_id, self.depth, self.with_downstream

    @property
    def root(self) -> Hashable:
        return _KIND, self.node_id

    async def find_root(self, connection: Connection) -> _Start:
        datasets, field, _ = await column_lineage.find_roots(connection, node_ids.parsed(self.node_id))
        return _Start({id_: tuple(names) for id_, names in datasets.items()}, field)

    def attempt(
        self, graph: ResidentGraph, start: _Start, _passing: Passing
    ) -> bytes | Missing | MissingColumns | list[Spot]:
        roots = [graph.graph.spot(id_, "DATASET") for id_ in start.datasets]
        pairs = self._pairs(graph, roots)
        if isinstance(pairs, Missing | MissingColumns):
            return pairs
        held = _HeldFields(graph.graph, graph.columns, pairs)
        if missing := [spot for spot in (*roots, *held.whole()) if _KIND not in spot.bodies]:
            return missing
        types = {spot.id: _place_of(spot).types for spot in roots}
        schemas = {id_: fields for id_, fields in types.items() if fields is not None}
        first = column_lineage.root_fields(held, start.datasets, start.field, schemas)
        if start.field and len(first) > 1:
            # The id of two columns: the database's answer refuses it.
            raise Unanswerable
        edges = column_lineage.walk_fields(held, first, self.depth, self.with_downstream)
        keys = {key for key, inputs in edges.items() if inputs}.union(*edges.values())
        spots = {spot for spot, _ in keys}
        if not graph.graph.mixed.isdisjoint(spots):
            raise Unanswerable
        if missing := [spot for spot in spots if spot.role == "DATASET" and _KIND not in spot.bodies]:
            return missing
        return _assembled(graph, keys, edges)

    async def load_bodies(
        self, connection: Connection, graph: ResidentGraph, spots: list[Spot], _passing: Passing
    ) -> None:
        ids = {spot.id for spot in spots}
        found = {row.id: row for row in (await rows.datasets_resolved(connection, ids)).values()}
        current = await rows.current_versions(connection, ids)
        facets = await facet_store.of_owners(connection, ids, ["schema"])
        graph.hold_aliases(await names.members(connection, ids))
        for spot in spots:
            row = found.get(spot.id)
            if row is None:
                graph.graph.mixed.add(spot)
                continue
            types = None
            if spot.id in facets:
                types = {field.name: field.type for field in shown_node.fields_of(facets[spot.id].get("schema"), {})}
            version = current[spot.id].id if spot.id in current else first_version(spot.id)
            place = _Place(row.namespace, row.name, str(version), types, row.hidden)
            graph.hold_body(spot, _KIND, place, _FIELD_BYTES * (1 + len(types or ())))

    def _pairs(self, graph: ResidentGraph, roots: Collection[Spot]) -> dict[_Pair, None] | Missing | MissingColumns:
        """Return the pairs of a job and what it writes on the ways up, and down when asked. A dataset that columns come from and that no edge
        leads to is walked from in turn."""
        pairs: dict[_Pair, None] = {}
        if self.with_downstream:
            below = _beyond(graph.graph, roots, "downstream", self.depth)
            if isinstance(below, Missing):
                return below
            pairs |= below[0]
        targets, met, front = set[Spot](), set[Spot](), set(roots)
        while True:
            above = _beyond(graph.graph, front, "upstream", self.depth)
            if isinstance(above, Missing):
                return above
            pairs |= above[0]
            targets.update(target for _, target in above[0])
            met |= above[1]
            of_jobs = graph.columns.of_jobs
            if unheld := [pair for pair in pairs if pair[1] not in of_jobs.get(pair[0], ())]:
                return MissingColumns(unheld)
            sources = {source for job, target in pairs if target in targets for source in of_jobs[job][target].out_of}
            front = {spot for spot in sources - met if spot.role == "DATASET"}
            if not front or self.depth < 2:
                return pairs


def _beyond(
    held: Adjacency, start: Collection[Spot], direction: Direction, depth: int
) -> tuple[dict[_Pair, None], set[Spot]] | Missing:
    """Return the pairs of a job and the dataset that it writes within so many hops, and every dataset met (`neighbours.datasets_beyond`).

    Raises Unanswerable where an id met is that of a dataset and of a job: its sides are those of one of them.
    """
    pairs: dict[_Pair, None] = {}
    seen, front, jobs_seen = set(start), list(start), set[Spot]()
    for hop in range(depth):
        if missing := [one for one in front if one.side(direction) is None]:
            return Missing(missing, direction, depth - hop)
        reached = [(job, dataset) for dataset in front for job in dataset.side(direction) or ()]
        jobs = dict.fromkeys(job for job, _ in reached if job not in jobs_seen)
        jobs_seen.update(jobs)
        if missing := [one for one in jobs if one.side(direction) is None]:
            return Missing(missing, direction, depth - hop)
        beyond = [(job, dataset) for job in jobs for dataset in job.side(direction) or ()]
        pairs.update(dict.fromkeys(reached if direction == "upstream" else beyond))
        front = list(dict.fromkeys(dataset for _, dataset in beyond if dataset not in seen))
        seen.update(front)
        if len(seen) + len(jobs_seen) > _MOST:
            raise TooLarge
        if not front:
            break
    if not held.mixed.isdisjoint(seen | jobs_seen):
        raise Unanswerable
    return pairs, seen


def _place_of(spot: Spot) -> _Place:
    place: _Place = spot.bodies[_KIND].shown
    return place


def _assembled(
    graph: ResidentGraph, keys: Collection[Column], edges: Mapping[Column, Mapping[Column, Transformation | None]]
) -> bytes:
    shown: dict[Column, _Field] = {}
    for key in keys:
        spot, name = key
        if spot.role == "DATASET" and not (place := _place_of(spot)).hidden:
            field = place.fields.get(name)
            if field is None:
                field = place.fields[name] = place.field(name)
                graph.grow_body(spot, _KIND, _FIELD_BYTES + len(field.before) + 4 * len(field.origin))
            shown[key] = field
    out_of: dict[Column, list[_Field]] = {}
    for key, inputs in edges.items():
        if me := shown.get(key):
            for one in inputs:
                out_of.setdefault(one, []).append(me)
    parts, room = [], graph.room
    for key, me in sorted(shown.items(), key=lambda item: item[1].text):
        inputs, fed = edges.get(key, _NOTHING), out_of.get(key, ())
        links = (
            *[each for one, how in inputs.items() if one in shown for each in (shown[one].number, how)],
            None,
            *[one.number for one in fed],
        )
        if me.links == links:
            parts.append(me.node)
            continue
        node = _node(me, [(shown[one], how) for one, how in inputs.items() if one in shown], fed)
        parts.append(node)
        more = len(node) - len(me.node)
        if more <= room:
            room -= more
            me.links, me.node = links, node
            graph.grow_body(key[0], _KIND, more)
    return b'{"graph":[%b]}' % b",".join(parts)


def _node(me: _Field, sources: list[tuple[_Field, Transformation | None]], fed: Iterable[_Field]) -> bytes:
    sources.sort(key=lambda source: source[0].text)
    origin = me.origin
    return b'%b%b,"inputFields":[%b]},"inEdges":[%b],"outEdges":[%b]}' % (
        me.before,
        _words(sources[0][1] if sources else None),
        b",".join([one.as_input + _words(how) + b"}" for one, how in sources]),
        b",".join([origin + one.destination for one, _ in sources]),
        b",".join([origin + one.destination for one in sorted(fed, key=lambda one: one.text)]),
    )


@functools.lru_cache(10_000)
def _words(how: Transformation | None) -> bytes:
    """Return what a column or an input shows of its transformation."""
    type_ = columns.transformation_type(how)
    described = how.description if how else None
    return b',"transformationDescription":%b,"transformationType":%b' % (_encode(described), _encode(type_))
