"""Edges between datasets and jobs, live at a time, and the column evidence behind them. Datasets go by their canonical ids."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from headwater.model.lineage import ColumnEdge, Edge, Origin
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage import column_sets, names


class Moment(msgspec.Struct, frozen=True):
    """The time at which a question looks at the graph."""

    as_of: dt.datetime | str = "infinity"

    @property
    def past(self) -> bool:
        return self.as_of != "infinity"


async def at_datasets(connection: Connection, ids: Collection[uuid.UUID], direction: str, moment: Moment) -> list[Edge]:
    """Return the live edges of these datasets; direction `in`: jobs that read them, `out`: jobs that write them."""
    return await _edges(connection, "at_datasets", ids, direction, moment)


async def at_jobs(connection: Connection, ids: Collection[uuid.UUID], direction: str, moment: Moment) -> list[Edge]:
    """Return the live edges of these jobs; direction `in`: what they read, `out`: what they write."""
    return await _edges(connection, "at_jobs", ids, direction, moment)


class Ahead:
    """Edges fetched for a whole walk in one journey, asked by dataset or job. What was not fetched has to be asked of the database."""

    def __init__(self, edges: Iterable[Edge], *, whole: bool) -> None:
        self.whole = whole
        self._by_dataset: dict[tuple[uuid.UUID, str], list[Edge]] = {}
        self._by_job: dict[tuple[uuid.UUID, str], list[Edge]] = {}
        for edge in edges:
            self._by_dataset.setdefault((edge.dataset, edge.direction), []).append(edge)
            self._by_job.setdefault((edge.job, edge.direction), []).append(edge)

    def at_datasets(self, ids: Collection[uuid.UUID], direction: str) -> list[Edge]:
        return [edge for id_ in ids for edge in self._by_dataset.get((id_, direction), ())]

    def at_jobs(self, ids: Collection[uuid.UUID], direction: str) -> list[Edge]:
        return [edge for id_ in ids for edge in self._by_job.get((id_, direction), ())]


async def ahead(
    connection: Connection,
    datasets: Collection[uuid.UUID],
    jobs: Collection[uuid.UUID],
    direction: str,
    depth: int,
    most: int,
) -> Ahead:
    """The live edges a walk `upstream` or `downstream` from these datasets (or, without any, from these jobs) may need now.

    `depth` counts hops from dataset to dataset; the edges on the near side of the last datasets are there too. When more than `most`
    datasets and jobs are met the walk stops early and `whole` is false.
    """
    near, far = ("out", "in") if direction == "upstream" else ("in", "out")
    rows = await sqlfile.load("lineage/edges")["walk"].packed(
        connection, datasets=list(datasets), jobs=list(jobs), near=near, far=far, depth=depth, most=most
    )
    whole = not rows or rows[-1][0] is not None
    found: dict[tuple[uuid.UUID, uuid.UUID, str], Edge] = {}
    for row in rows if whole else rows[:-1]:
        key = row[:3]
        found[key] = Edge(*row) if key not in found else _both(found[key], Edge(*row))
    return Ahead(found.values(), whole=whole)


def _both(one: Edge, other: Edge) -> Edge:
    """Merge two edges of a dataset under two of its names."""
    return Edge(
        one.dataset, one.job, one.direction, one.declared and other.declared, min(one.first_seen, other.first_seen),
        max(one.last_seen, other.last_seen), one.explicit or other.explicit, one.manual and other.manual, one.intermittent and other.intermittent,
        one.parsed and other.parsed,
    )  # fmt: skip


async def _edges(
    connection: Connection, where: str, ids: Collection[uuid.UUID], direction: str, moment: Moment
) -> list[Edge]:
    if not ids:
        return []
    queries = sqlfile.load("lineage/edges")
    if moment.past:
        rows = await queries[f"past_{where}"].many(connection, ids=list(ids), direction=direction, as_of=moment.as_of)
    else:
        rows = await queries[f"live_{where}"].many(connection, ids=list(ids), direction=direction)
    return [Edge(*row) for row in rows]


async def explicit_pairs(
    connection: Connection, jobs: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, dict[uuid.UUID, set[uuid.UUID]]]:
    """Return the sources of each target, by job, for jobs with explicit lineage. An empty set of sources: nothing feeds the target."""
    found: dict[uuid.UUID, dict[uuid.UUID, set[uuid.UUID]]] = {}
    if jobs:
        rows = await sqlfile.load("lineage/edges")["explicit_sets"].many(connection, ids=list(jobs), as_of=moment.as_of)
        sets = await column_sets.load(connection, {row[2] for row in rows})
        settled = await _settled(
            connection, (e.source for edges in sets.values() for e in edges), (row[1] for row in rows)
        )
        for job, target, set_id in rows:
            sources = found.setdefault(job, {}).setdefault(settled.get(target) or target, set())
            sources.update(settled.get(edge.source, edge.source) for edge in sets[set_id])
    return found


class ReportedColumns(NamedTuple):
    """The column edges of some (job, target). `fields`: by pair, the target's fields that a run or a declaration has evidence about, also of no
    input. `explicit`: the pairs with explicit lineage, which names everything that feeds its target.
    """

    edges: list[ColumnEdge]
    fields: dict[tuple[uuid.UUID, uuid.UUID], set[str]]
    explicit: set[tuple[uuid.UUID, uuid.UUID]]


async def reported_columns(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment
) -> ReportedColumns:
    """Return what is reported of columns, and drawn by people, by (job, target); targets are datasets or the jobs themselves."""
    if not pairs:
        return ReportedColumns([], {}, set())
    others = await names.members(connection, {target for _, target in pairs})
    asked = {(job, id_) for job, target in pairs for id_ in (target, *others.get(target, ()))}
    foreign = await _foreign_pairs(connection, asked)
    asked |= foreign.keys()
    given: dict[str, object] = {"jobs": [job for job, _ in asked], "targets": [target for _, target in asked]}
    if moment.past:
        given |= {"as_of": moment.as_of}
    rows = await sqlfile.load("lineage/edges")["past_column_sets" if moment.past else "live_column_sets"].many(
        connection, **given
    )
    rows += await sqlfile.load("lineage/edges")["manual_column_sets"].many(
        connection, jobs=given["jobs"], targets=given["targets"], as_of=moment.as_of
    )
    # By precedence, so what is shown of an edge that several sets have does not depend on how PostgreSQL finds them.
    rows.sort(key=lambda row: (row[3], row[2]))
    sets = await column_sets.load_evidence(connection, {row[2] for row in rows})
    sources = (edge.source for one in sets.values() for edge in one.edges)
    settled = await _settled(connection, sources, (row[1] for row in rows))
    found: dict[object, ColumnEdge] = {}
    # A set has each edge once. Where a pair has one set and no name stands for another, there is nothing to compare: a key costs more than an edge.
    sets_of = Counter((job, told_target) for job, told_target, *_ in rows)
    reads = await reads_behind(connection, rows, foreign, moment)
    fields: dict[tuple[uuid.UUID, uuid.UUID], set[str]] = {}
    explicit = set()
    for job, told_target, set_id, origin, is_fresh in rows:
        target = settled.get(told_target) or told_target
        through = foreign.get((job, told_target))
        if origin == Origin.EXPLICIT and through is None:
            explicit.add((job, target))
        if origin != Origin.MANUAL and through is None:
            fields.setdefault((job, target), set()).update(sets[set_id].fields)
        alone, own, from_ = not (foreign or settled) and sets_of[job, target] == 1, target == job, Origin(origin)
        for edge in sets[set_id].edges:
            source = settled.get(edge.source, edge.source) if settled else edge.source
            if own and source == job:
                # A dataset that declares lineage from itself: no job is there to read it.
                continue
            if alone:
                if not is_fresh and (job, source) not in reads:
                    continue
                found[len(found)] = ColumnEdge(
                    job, target, edge.target_field, source, edge.source_field, from_, edge.transformation
                )
                continue
            # Of another's report, a job has what feeds the job itself, and what the job is named to feed.
            for via in (job,) if through is None else [one for one in through if one in {target, source}]:
                if not is_fresh and (via, source) not in reads:
                    continue
                key = (via, target, edge.target_field, source, edge.source_field, edge.transformation)
                if key not in found or found[key].origin > origin:
                    found[key] = ColumnEdge(
                        via, target, edge.target_field, source, edge.source_field, from_, edge.transformation
                    )
    return ReportedColumns(list(found.values()), fields, explicit)


async def reads_behind(
    connection: Connection,
    rows: Iterable[tuple[uuid.UUID, uuid.UUID, uuid.UUID, int, bool]],
    foreign: Mapping[tuple[uuid.UUID, uuid.UUID], Collection[uuid.UUID]],
    moment: Moment,
) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Return what jobs read, as (job, dataset), of those whose sets of column edges come and go: a set may come back with a source that has ended."""
    doubted = {via for job, target, *_, is_fresh in rows if not is_fresh for via in foreign.get((job, target), (job,))}
    edges = await at_jobs(connection, doubted, "in", moment) if doubted else []
    return {(edge.job, edge.dataset) for edge in edges}


async def _foreign_pairs(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]]
) -> dict[tuple[uuid.UUID, uuid.UUID], set[uuid.UUID]]:
    """Return (reporter, target) of those that report edges of these (job, target) for other jobs, with the jobs; none that is asked for itself."""
    found: dict[tuple[uuid.UUID, uuid.UUID], set[uuid.UUID]] = {}
    for reporter, job, target in await reported_by_others(connection, pairs):
        if (reporter, target) not in pairs:
            found.setdefault((reporter, target), set()).add(job)
    return found


async def reported_by_others(
    connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]]
) -> list[tuple[uuid.UUID, uuid.UUID, uuid.UUID]]:
    """Return (reporter, job, target) of those of these (job, target) whose edges another job or a dataset reports."""
    jobs, targets = [job for job, _ in pairs], [target for _, target in pairs]
    return await sqlfile.load("lineage/edges")["foreign_reporters"].many(connection, jobs=jobs, targets=targets)


async def _settled(connection: Connection, *ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    return await names.canonical(connection, {id_ for some in ids for id_ in some})


async def children(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the jobs directly below each of these jobs."""
    found: dict[uuid.UUID, list[uuid.UUID]] = {}
    for child, parent in await sqlfile.load("lineage/edges")["children_with_edges"].many(connection, ids=list(jobs)):
        found.setdefault(parent, []).append(child)
    return found
