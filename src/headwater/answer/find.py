"""Finding what a person or a client means by a name: node ids, unique suffixes, search."""

import uuid

import msgspec

from headwater.errors import InvalidQuestion, NotFound
from headwater.model import version
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName, node_id_readings, short, suffixes_match
from headwater.store import names, server_state
from headwater.store import nodes as node_store
from headwater.store.database import Connection, Database
from headwater.store.nodes import Hit, NodeRow

# What holds whatever rules people set.
_SPELLINGS = Identity()


class Found(msgspec.Struct):
    id: str
    type: str
    namespace: str
    name: str
    label: str
    matched: str
    detail: str | None


class SearchResult(msgspec.Struct):
    total: int
    results: list[Found]


class Resolution(msgspec.Struct):
    """`match` when one thing is meant; else what it could be, or what is near."""

    match: Found | None
    candidates: list[Found]
    suggestions: list[Found]


def _found(hit: Hit) -> Found:
    return Found(hit.node_id, hit.type, hit.namespace, hit.name, short(hit.name), hit.matched, hit.detail)


async def node_row(connection: Connection, node_id: str) -> NodeRow:
    """The dataset or job with this node id, whichever way its colons are read, by any of its names. Raises NotFound."""
    readings = node_id_readings(node_id)
    rows = await node_store.by_ids(connection, {_id(reading, _SPELLINGS) for reading in readings})
    if not rows:
        identity = Identity((await server_state.read(connection)).rules)
        rows = await node_store.by_ids(connection, {_id(reading, identity) for reading in readings})
    if not rows:
        raise NotFound(f"{node_id!r} is not known", node=node_id)
    # Two readings of one id can both exist (namespace `a` name `b:c`, namespace `a:b` name `c`); the longer namespace is the likelier.
    row = max(rows.values(), key=lambda row: (len(row.namespace), row.name))
    canonical = await names.canonical(connection, [row.id]) if row.type == "DATASET" else {}
    return (await node_store.by_ids(connection, [canonical[row.id]]))[canonical[row.id]] if canonical else row


def _id(reading: DatasetName | JobName, identity: Identity) -> uuid.UUID:
    if isinstance(reading, DatasetName):
        return version.dataset_id(identity.place(reading).name)
    return version.job_id(reading)


async def search(database: Database, words: str, kind: str | None, limit: int) -> SearchResult:
    """Datasets and jobs with the words in a name, a column or a description."""
    wanted = _kind(kind)
    if not words.strip():
        raise InvalidQuestion("q must not be blank", parameter="q")
    async with database.connection() as connection:
        hits, total = await node_store.search(connection, words.strip(), wanted, limit)
    return SearchResult(total, [_found(hit) for hit in hits])


async def resolve(database: Database, name: str, kind: str | None = None) -> Resolution:
    """What a person means: the node id, the whole name, or an ending of it that only one thing has."""
    wanted = _kind(kind)
    if not name.strip():
        raise InvalidQuestion("name must not be blank", parameter="name")
    async with database.connection() as connection:
        hits = [hit for hit in await node_store.ending_with(connection, name) if wanted in {None, hit.type}]
        for group in (
            [hit for hit in hits if hit.node_id == name],
            [hit for hit in hits if hit.name == name],
            [
                hit
                for hit in hits
                if suffixes_match(hit.name, name) or suffixes_match(f"{hit.namespace}:{hit.name}", name)
            ],
        ):
            if len(group) == 1:
                return Resolution(_found(group[0]), [], [])
            if group:
                return Resolution(None, [_found(hit) for hit in group], [])
        near = [hit for hit in await node_store.nearest(connection, name, 10) if wanted in {None, hit.type}]
    return Resolution(None, [], [_found(hit) for hit in near[:5]])


def _kind(kind: str | None) -> str | None:
    if kind is None:
        return None
    if kind.upper() not in {"DATASET", "JOB"}:
        raise InvalidQuestion(f"type {kind!r} is not dataset or job", parameter="type")
    return kind.upper()
