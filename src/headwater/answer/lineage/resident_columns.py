"""Columns in the graph in memory: loading the edges of a walk's columns, and what an answer of `/api/v2` shows of them.

Columns that have to be read out of SQL, or that one job reports of another, are PostgreSQL's: their answer depends on all that is asked at once.
"""

import uuid
from collections.abc import Iterable

import msgspec

from headwater.answer.lineage import inferred
from headwater.answer.lineage.lineage_answer import AnswerColumnEdge, AnswerTransformation
from headwater.graph.adjacency import Adjacency, Spot
from headwater.graph.held_columns import ColumnLink, HeldColumns
from headwater.model.lineage import ColumnEdge
from headwater.store.database import Connection
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names, nodes
from headwater.store.lineage.edges import Moment

_encode = msgspec.json.Encoder().encode


async def load(
    connection: Connection, graph: Adjacency, held: HeldColumns, pairs: Iterable[tuple[Spot, Spot]]
) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Hold the column edges of these jobs into these targets. Return the other ids of the datasets at their ends."""
    pairs = list(pairs)
    ids = [(job.id, target.id) for job, target in pairs]
    reported = await edge_store.reported_columns(connection, ids, Moment())
    by_others = await edge_store.reported_by_others(connection, ids)
    elsewhere = {(job, target) for _, job, target in by_others}
    elsewhere |= await inferred.pairs_with_sql(connection, ids, reported)
    sources = {edge.source for edge in reported.edges}
    roles = await nodes.by_ids(connection, [id_ for id_ in sources if id_ not in graph.spots])
    for id_, row in roles.items():
        graph.spot(id_, "DATASET" if row.type == "DATASET" else "JOB")
    by_pair: dict[tuple[uuid.UUID, uuid.UUID], list[ColumnEdge]] = {}
    for edge in reported.edges:
        by_pair.setdefault((edge.job, edge.target), []).append(edge)
    for (job, target), pair in zip(pairs, ids, strict=True):
        edges = [edge for edge in by_pair.get(pair, ()) if edge.source in graph.spots]
        held.hold(job, target, edges, graph.spots, complete=pair not in elsewhere)
    return await names.members(connection, sources.union(target for _, target in ids))


def encoded_links(held: HeldColumns, links: Iterable[ColumnLink]) -> list[bytes]:
    """Return the edges as an answer shows them."""
    return [link.body or _encode_link(held, link) for link in links]


def _encode_link(held: HeldColumns, link: ColumnLink) -> bytes:
    block = link.block
    edge = AnswerColumnEdge(
        link.source.name,
        link.source_field or None,
        block.target.name,
        link.target_field or None,
        block.job.name,
        link.ways[0][0].name,
        [
            AnswerTransformation(how.type, how.subtype or None, how.masking, how.description)
            for _, how in link.ways
            if how is not None
        ],
    )
    body = _encode(edge)
    held.hold_body(link, body)
    return body
