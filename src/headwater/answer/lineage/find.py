"""Finding what a person or a client means by a name: node ids, unique suffixes, what is near."""

import datetime as dt
import uuid
from collections.abc import Iterable

import msgspec

from headwater.answer.search.search import kind_of, near
from headwater.errors import Ambiguous, InvalidQuestion, NotFound
from headwater.model import version
from headwater.model.dbt_jobs import names_by_relation
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName, distinct_node_id, node_id_readings, short, suffixes_match
from headwater.store.database import Connection, Database
from headwater.store.events import server_state
from headwater.store.lineage import names
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import Hit, NodeRow
from headwater.store.search import Candidate

# The built-in spellings, which hold under any naming rules.
_SPELLINGS = Identity()


class SearchHit(msgspec.Struct):
    """`detail`: the other name by which it was found."""

    id: str
    type: str
    namespace: str
    name: str
    label: str
    matched: str
    detail: str | None


class Resolution(msgspec.Struct):
    """`match` when one thing is meant; else what it could be, or what is near."""

    match: SearchHit | None
    candidates: list[SearchHit]
    suggestions: list[SearchHit]


def _search_hit(hit: Hit | Candidate) -> SearchHit:
    other = hit.reported_id if isinstance(hit, Hit) and hit.reported_id != hit.node_id else None
    return SearchHit(hit.node_id, hit.type, hit.namespace, hit.name, short(hit.name), "name", other)


async def node_row(connection: Connection, node_id: str) -> NodeRow:
    """The dataset or job with this node id, whichever way its colons are read, by any of its names.

    Raises NotFound, and Ambiguous if two that exist have this id (namespace `a` and name `b:c`, namespace `a:b` and name `c`).
    """
    readings = node_id_readings(node_id)
    rows = await node_store.by_ids(connection, {_id(reading, _SPELLINGS) for reading in readings})
    if not rows:
        identity = Identity((await server_state.read(connection)).rules)
        rows = await node_store.by_ids(connection, {_id(reading, identity) for reading in readings})
    if not rows:
        by_node = {
            version.job_id(JobName(reading.namespace, name))
            for reading in readings
            if isinstance(reading, JobName)
            for name in names_by_relation(reading.name)
        }
        rows = await node_store.by_ids(connection, by_node)
    if not rows:
        raise NotFound(f"{node_id!r} is not known", node=node_id)
    canonical = await names.canonical(connection, [row.id for row in rows.values() if row.type == "DATASET"])
    if len({canonical.get(id_, id_) for id_ in rows}) > 1:
        ids = sorted(distinct_node_id(row.type.lower(), row.namespace, row.name) for row in rows.values())
        raise Ambiguous(
            f"{node_id!r} is the id of {len(ids)} nodes, whose names differ in where the namespace ends; ask with one of {', '.join(ids)}",
            candidates=ids,
        )
    row = next(iter(rows.values()))
    standing = canonical.get(row.id, row.id)
    return row if standing == row.id else (await node_store.by_ids(connection, [standing]))[standing]


async def row_seen_by(connection: Connection, node_id: str, as_of: dt.datetime | None) -> NodeRow:
    """Return the row of `node_row`. Raises NotFound too if nothing was reported of it by `as_of`, under any of its names."""
    row = await node_row(connection, node_id)
    if as_of is not None and (first := await first_seen(connection, row, as_of)) > as_of:
        raise NotFound(
            f"{row.node_id} was not known yet at {as_of.isoformat()}; first seen {first.isoformat()}",
            node=row.node_id,
            first_seen=first.isoformat(),
        )
    return row


async def first_seen(connection: Connection, row: NodeRow, as_of: dt.datetime) -> dt.datetime:
    """Return when a node was first reported, a dataset by any of its names; of one that was there by `as_of`, a time by which it was."""
    there = row.type != "DATASET" or row.first_seen <= as_of
    return row.first_seen if there else await node_store.first_seen(connection, row.id)


async def parents_of_jobs(connection: Connection, node_ids: Iterable[str]) -> dict[str, str]:
    """Return the node id of the job above each of these jobs; absent: it has none, or is no job."""
    ids = {
        version.job_id(reading)
        for node_id in node_ids
        for reading in node_id_readings(node_id)
        if isinstance(reading, JobName)
    }
    rows = (await node_store.by_ids(connection, ids)).values()
    above = await node_store.by_ids(connection, {row.parent_id for row in rows if row.parent_id is not None})
    return {row.node_id: above[row.parent_id].node_id for row in rows if row.parent_id in above}


def _id(reading: DatasetName | JobName, identity: Identity) -> uuid.UUID:
    if isinstance(reading, DatasetName):
        return version.dataset_id(identity.place(reading).name)
    return version.job_id(reading)


async def resolve(database: Database, name: str, kind: str | None = None, *, suggest: bool = True) -> Resolution:
    """Resolve a name that a person gave: the node id, the whole name, or an ending that only one thing has. `suggest`: look for what is near where
    nothing is meant, which costs more than all else.
    """
    wanted = kind_of(kind)
    if not name.strip():
        raise InvalidQuestion("name must not be blank", parameter="name")
    async with database.connection() as connection:
        hits = [hit for hit in await node_store.ending_with(connection, name) if wanted in {None, hit.type}]
        for group in (
            [hit for hit in hits if name in {hit.node_id, hit.reported_id}],
            [hit for hit in hits if hit.told_name == name],
            [
                hit
                for hit in hits
                if suffixes_match(hit.told_name, name)
                or suffixes_match(f"{hit.told_namespace}:{hit.told_name}", name)
                or suffixes_match(f"{hit.told_namespace}/{hit.told_name}", name)
            ],
        ):
            # A dataset that is meant by two of its names is one.
            meant = list({hit.id: hit for hit in reversed(group)}.values())[::-1]
            if len(meant) == 1:
                return Resolution(_search_hit(meant[0]), [], [])
            if meant:
                return Resolution(None, [_search_hit(hit) for hit in meant], [])
        if not suggest:
            return Resolution(None, [], [])
        close = [one for one in await near(connection, name, 10) if wanted in {None, one.type}]
    return Resolution(None, [], [_search_hit(one) for one in close[:5]])
