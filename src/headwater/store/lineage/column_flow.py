"""Datasets made from datasets since a time, column by column: every way that a run took, not only what holds now."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping
from typing import NamedTuple

from headwater.model import facets
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage import column_sets, names
from headwater.store.lineage.column_sets import SetEdge


class WriteEvidence(NamedTuple):
    """One way in which a job wrote a dataset. edges: with sources by the names that stand for them. told: columns with evidence.
    columns: all; None if unknown.
    """

    edges: tuple[SetEdge, ...]
    told: frozenset[str]
    columns: tuple[str, ...] | None


class WrittenDataset(NamedTuple):
    """A dataset that a job wrote that reads another. ways: empty if unknown. A job all of whose runs failed wrote nothing. What its child runs
    did, they report themselves.
    """

    dataset: uuid.UUID
    ways: tuple[WriteEvidence, ...]
    job: uuid.UUID


async def written_from(
    connection: Connection, ids: Collection[uuid.UUID], since: dt.datetime | None
) -> dict[uuid.UUID, list[WrittenDataset]]:
    """Return what was made from these datasets, by dataset; `since` None: ever. `columns` is None if a way reports no columns of the dataset."""
    queries = sqlfile.load("lineage/column_flow")
    since_ = since or "-infinity"
    rows = await queries["written_from"].many(connection, ids=list(ids), since=since_)
    pairs = sorted({(job, told) for _, job, told, _ in rows})
    given = {"jobs": [job for job, _ in pairs], "targets": [target for _, target in pairs]}
    ways = await queries["ways"].many(connection, **given, since=since_) if pairs else []
    drawn = await sqlfile.load("lineage/edges")["manual_column_sets"].many(connection, **given, as_of="infinity")
    sets = await column_sets.load_evidence(
        connection, {id_ for _, _, some, _, _ in ways for id_ in some or ()} | {row[2] for row in drawn}
    )
    sources = {edge.source for one in sets.values() for edge in one.edges}
    settled = await names.canonical(connection, sources)
    taken: dict[tuple[uuid.UUID, uuid.UUID], list[WriteEvidence]] = {}
    known: dict[tuple[uuid.UUID, uuid.UUID], bool] = {}
    for job, target, some, body, counts in ways:
        known[job, target] = counts or known.get((job, target), False)
        if not counts:
            continue
        columns = None
        if some and body is not None:
            columns = tuple(field.name for field in facets.schema(bytes(body)))
        taken.setdefault((job, target), []).append(_taken([sets[id_] for id_ in some or ()], columns, settled))
    for job, target, set_id, _ in drawn:
        # Manual column edges do not say whether there are other columns.
        taken.setdefault((job, target), []).append(_taken([sets[set_id]], (), settled))
    found: dict[uuid.UUID, list[WrittenDataset]] = {}
    for node, job, told, target in rows:
        if (job, told) not in taken and not known.get((job, told), True):
            continue
        found.setdefault(node, []).append(WrittenDataset(target, tuple(taken.get((job, told), ())), job))
    return found


async def columns(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """Return the columns that these datasets ever had by a report; those without a known schema are absent."""
    found: dict[uuid.UUID, set[str]] = {}
    for node, body in await sqlfile.load("lineage/column_flow")["columns"].many(connection, ids=list(ids)):
        found.setdefault(node, set()).update(field.name for field in facets.schema(bytes(body)))
    return found


async def named(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """Return the columns that edges from or to these datasets name; those without any are absent."""
    rows = await sqlfile.load("lineage/column_flow")["sets_of"].many(connection, ids=list(ids))
    sets = await column_sets.load_evidence(connection, {set_id for _, set_id, _ in rows})
    settled = await names.canonical(connection, {edge.source for one in sets.values() for edge in one.edges})
    found: dict[uuid.UUID, set[str]] = {}
    for node, set_id, as_target in rows:
        if as_target:
            columns = {*sets[set_id].fields, *(edge.target_field for edge in sets[set_id].edges)}
        else:
            columns = {
                edge.source_field for edge in sets[set_id].edges if settled.get(edge.source, edge.source) == node
            }
        found.setdefault(node, set()).update(columns - {""})
    return {node: columns for node, columns in found.items() if columns}


def _taken(
    some: list[column_sets.ColumnEvidence], columns: tuple[str, ...] | None, settled: Mapping[uuid.UUID, uuid.UUID]
) -> WriteEvidence:
    edges = [
        SetEdge(edge.target_field, settled.get(edge.source, edge.source), edge.source_field, edge.transformation)
        for one in some
        for edge in one.edges
    ]
    return WriteEvidence(tuple(edges), frozenset(field for one in some for field in one.fields), columns)
