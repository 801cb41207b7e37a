"""Columns that carry a tag: those that events or people tagged, and all that hold values made of theirs.

A value is followed by direct column edges, hop by hop, with a fixed number of statements for each. An indirect edge (a filter, a join, an order)
carries no value. Where a job reports no columns and its SQL cannot be read, anything it makes may hold the value: that is said (`certain`).
What jobs wrote once and write no more may still be there: the ways of the past are followed on request. Tables and their partitions share rows.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from headwater.answer.lineage import inferred, node
from headwater.answer.people.people import Tag, Words
from headwater.answer.privacy.families import Families, load_families
from headwater.model.lineage import Transformation
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import column_flow
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.people import annotations as annotation_store

ROWS: Final = ""
"""The column that stands for any column of a dataset."""
PLAIN, AGGREGATED, MASKED = "plain", "aggregated", "masked"
HANDLINGS: Final = (PLAIN, AGGREGATED, MASKED)
"""From the value itself to what hides it."""
Column = tuple[uuid.UUID, str]


class Carrier(msgspec.Struct, frozen=True):
    """A column, and the way on which the value is least hidden. `handling`: the most that a step of the way does to it. `certain`: all steps are
    known by column. `because`: the column before it, None of a tagged one; `job`: between them, None from a table to its partition or back.
    `exact`: each step copies the value as it is.
    """

    name: str
    handling: str
    certain: bool
    hop: int
    because: Column | None = None
    job: uuid.UUID | None = None
    exact: bool = True

    @property
    def rank(self) -> tuple[int, bool]:
        return HANDLINGS.index(self.handling), not self.certain


class Carried(msgspec.Struct):
    """`columns`: by dataset and name in lower case. `hidden`: datasets past the limit, whose readers were not looked at."""

    columns: dict[Column, Carrier]
    hidden: int = 0

    @property
    def datasets(self) -> set[uuid.UUID]:
        return {dataset for dataset, _ in self.columns}


async def carry(connection: Connection, tag: str, moment: Moment, most: int, *, ever: bool = False) -> Carried:
    """Return all columns that carry the tag, given as `key` (any value but false) or `key:value`. `most`: datasets that are followed.
    `ever`: also by what jobs wrote before and write no more.
    """
    return await spread(connection, await tagged(connection, tag, moment), moment, most, ever=ever)


async def spread(
    connection: Connection, start: dict[Column, Carrier], moment: Moment, most: int, *, ever: bool = False
) -> Carried:
    """Return all columns that hold values of these columns, with them; `most` and `ever` as of `carry`."""
    found = Carried(start)
    families = await load_families(connection, moment, ever=ever)
    fresh = found.datasets
    followed: set[uuid.UUID] = set()
    hop = 0
    while fresh:
        hop += 1
        allowed = {one for one in fresh if one in followed}
        allowed |= set(sorted(fresh - allowed)[: max(0, most - len(followed))])
        found.hidden += len(fresh - allowed)
        followed |= allowed
        fresh = await _step(connection, found.columns, allowed, moment, hop, families, ever=ever)
    return found


async def _step(
    connection: Connection,
    columns: dict[Column, Carrier],
    level: set[uuid.UUID],
    moment: Moment,
    hop: int,
    families: Families,
    *,
    ever: bool,
) -> set[uuid.UUID]:
    """Follow these datasets by one hop; return those with columns that carry the value for the first time, or less hidden than before."""
    if not level:
        return set()
    flows = await _live_flows(connection, level, moment)
    if ever:
        flows += await _past_flows(connection, level, flows)
    mine: dict[uuid.UUID, dict[str, Carrier]] = {}
    for (dataset, column), carrier in columns.items():
        if dataset in level:
            mine.setdefault(dataset, {})[column] = carrier
    fresh: set[uuid.UUID] = set()
    reached = [found for flow in flows for found in _reached(flow, mine[flow.source], hop)]
    shared = [found for dataset, carriers in mine.items() for found in _shared(dataset, carriers, families, hop)]
    existing = await node_store.by_ids(connection, {dataset for (dataset, _), _ in shared})
    for place, new in (*reached, *(one for one in shared if one[0][0] in existing)):
        old = columns.get(place)
        if old is None or new.rank < old.rank:
            columns[place] = new
            fresh.add(place[0])
    return fresh


def _shared(
    dataset: uuid.UUID, carriers: Mapping[str, Carrier], families: Families, hop: int
) -> Iterable[tuple[Column, Carrier]]:
    """Yield the columns of a table's partitions and heirs, and of the tables that it is a part of, which hold the same rows."""
    children = families.children.get(dataset, set())
    for column, one in carriers.items():
        place = (dataset, column)
        for parent in families.parents.get(dataset, ()):
            if families.has(parent, column):
                yield (parent, column), Carrier(one.name, one.handling, one.certain, hop, place, None, one.exact)
        # What came from one child is not in each of the others.
        came_up = one.job is None and one.because is not None and one.because[0] in children
        for child in children:
            yield (
                (child, column),
                Carrier(one.name, one.handling, one.certain and not came_up, hop, place, None, one.exact),
            )


class _Step(NamedTuple):
    """A column of a target made of a column of a source; a source field "" is the whole dataset."""

    source_field: str
    target_field: str
    transformation: Transformation | None


class _Flow(NamedTuple):
    """A job that reads a dataset and writes another. `steps`: between their columns; none where the columns are not known."""

    source: uuid.UUID
    job: uuid.UUID
    target: uuid.UUID
    steps: list[_Step]


async def _live_flows(connection: Connection, level: Collection[uuid.UUID], moment: Moment) -> list[_Flow]:
    reads = await edge_store.at_datasets(connection, level, "in", moment)
    made: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, {edge.job for edge in reads}, "out", moment):
        made.setdefault(edge.job, set()).add(edge.dataset)
    pairs = [(job, target) for job, targets in made.items() for target in targets]
    steps: dict[tuple[uuid.UUID, uuid.UUID, uuid.UUID], list[_Step]] = {}
    for one in await inferred.column_edges(connection, pairs, moment):
        known = steps.setdefault((one.source, one.job, one.target), [])
        known.append(_Step(one.source_field, one.target_field, one.transformation))
    return [
        _Flow(edge.dataset, edge.job, target, steps.get((edge.dataset, edge.job, target), []))
        for edge in reads
        for target in made.get(edge.job, ())
    ]


async def _past_flows(connection: Connection, level: Collection[uuid.UUID], live: list[_Flow]) -> list[_Flow]:
    """Every way in which jobs ever made something of these datasets and reported its columns; past SQL is not read again."""
    known = {(flow.source, flow.job, flow.target) for flow in live}
    found = []
    for source, datasets in (await column_flow.written_from(connection, level, None)).items():
        for written in datasets:
            steps = [
                _Step(one.source_field, one.target_field, one.transformation)
                for way in written.ways
                for one in way.edges
                if one.source == source
            ]
            reported = any(way.told for way in written.ways)
            if steps or not (reported or (source, written.job, written.dataset) in known):
                found.append(_Flow(source, written.job, written.dataset, steps))
    return found


def _reached(flow: _Flow, carriers: Mapping[str, Carrier], hop: int) -> Iterable[tuple[Column, Carrier]]:
    if not flow.steps and flow.target != flow.source:
        column, carrier = min(carriers.items(), key=lambda item: (item[1].rank, item[0]))
        yield (flow.target, ROWS), Carrier(ROWS, carrier.handling, False, hop, (flow.source, column), flow.job, False)
    for step in flow.steps:
        if step.transformation is not None and step.transformation.type == "INDIRECT":
            continue
        named = step.source_field.lower()
        # A step from the whole dataset takes any column; so may one from a dataset of which any column may carry the value.
        sources = [named] if named in carriers else [ROWS] if ROWS in carriers else [] if named else list(carriers)
        for source in sources:
            carrier = carriers[source]
            handling = max(carrier.handling, _handling(step.transformation), key=HANDLINGS.index)
            certain = carrier.certain and source == named
            exact = carrier.exact and step.transformation is not None and step.transformation.subtype == "IDENTITY"
            made = Carrier(step.target_field, handling, certain, hop, (flow.source, source), flow.job, exact)
            yield (flow.target, step.target_field.lower()), made


def _handling(transformation: Transformation | None) -> str:
    if transformation is None:
        return PLAIN
    if transformation.masking:
        return MASKED
    return AGGREGATED if transformation.subtype == "AGGREGATION" else PLAIN


async def tagged(connection: Connection, tag: str, moment: Moment) -> dict[Column, Carrier]:
    """Return the columns that are tagged themselves; of a dataset that is tagged as a whole every column, or `ROWS` if none is known."""
    ids = await annotation_store.datasets_with_tags(connection)
    facets = await facet_store.of_owners(connection, ids, ("tags", "schema"), moment.as_of)
    said = await annotation_store.of_owners(connection, ids)
    found: dict[Column, Carrier] = {}
    for id_ in ids:
        words, mine = Words(said.get(id_, ())), facets.get(id_, {})
        fields = [field.name for field in node.fields_with(words, mine.get("schema"), mine.get("tags"))]
        told = node.decode_tags(mine.get("tags"))
        names = [name for name in {*fields, *told} if name and _has(words.tags(told.get(name, ()), name), tag)]
        if _has(words.tags(told.get(ROWS, ())), tag):
            names += fields or [ROWS]
        for name in names:
            found[id_, name.lower()] = Carrier(name, PLAIN, True, 0)
    return found


def _has(tags: Iterable[Tag], asked: str) -> bool:
    asked = asked.casefold()
    return any(
        one.text.casefold() == asked or (one.name.casefold() == asked and str(one.value).casefold() != "false")
        for one in tags
    )
