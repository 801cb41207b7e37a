"""Sets of column edges by id. A set is content, so what was read once is remembered."""

import uuid
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from headwater.model.lineage import Transformation
from headwater.store import sqlfile
from headwater.store.database import Connection

# In edges, not in sets: a set may hold thousands.
_REMEMBERED = 200_000


class SetEdge(msgspec.Struct, frozen=True):
    """A field of the set's target is fed by a field of a source. An empty field is the whole dataset."""

    target_field: str
    source: uuid.UUID
    source_field: str
    transformation: Transformation | None


class ColumnEvidence(NamedTuple):
    """The content of a set, each edge once. `fields`: those of the target with inputs, and those reported to have none."""

    edges: tuple[SetEdge, ...]
    fields: frozenset[str]


_edges = msgspec.json.Decoder(list[tuple[str, uuid.UUID, str, str, str, bool, str | None]])
_remembered: dict[uuid.UUID, ColumnEvidence] = {}
_held = 0
_NO_SOURCE = uuid.UUID(int=0)
"""The source of a field that nothing feeds: it stands for no edge."""


async def load(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, tuple[SetEdge, ...]]:
    """Return sets by id."""
    return {id_: one.edges for id_, one in (await load_evidence(connection, ids)).items()}


async def load_evidence(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, ColumnEvidence]:
    """Return sets by id, and the fields that each mentions."""
    global _held  # noqa: PLW0603 - one process, one memory
    found = {id_: _remembered[id_] for id_ in ids if id_ in _remembered}
    if missing := [id_ for id_ in ids if id_ not in found]:
        for id_, body in await sqlfile.load("lineage/edges")["column_sets"].many(connection, ids=missing):
            rows = _edges.decode(body)
            edges = dict.fromkeys(
                SetEdge(target, source, field, Transformation(kind, subtype, masking, words) if kind else None)
                for target, source, field, kind, subtype, masking, words in rows
                if source != _NO_SOURCE
            )
            found[id_] = ColumnEvidence(tuple(edges), frozenset(row[0] for row in rows if row[0]))
            _held += len(rows)
            if _held > _REMEMBERED:
                _remembered.clear()
                _held = len(rows)
            _remembered[id_] = found[id_]
    return found
