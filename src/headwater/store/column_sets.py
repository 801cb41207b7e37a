"""Sets of column edges by id. A set is content, so what was read once is remembered."""

import uuid
from collections.abc import Collection

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


_edges = msgspec.json.Decoder(list[tuple[str, uuid.UUID, str, str, str, bool, str | None]])
_remembered: dict[uuid.UUID, tuple[SetEdge, ...]] = {}
_held = 0


async def load(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, tuple[SetEdge, ...]]:
    """Sets by id."""
    global _held  # noqa: PLW0603 - one process, one memory
    found = {id_: _remembered[id_] for id_ in ids if id_ in _remembered}
    if missing := [id_ for id_ in ids if id_ not in found]:
        for id_, body in await sqlfile.load("edges")["column_sets"].many(connection, ids=missing):
            edges = tuple(
                SetEdge(target, source, field, Transformation(kind, subtype, masking, words) if kind else None)
                for target, source, field, kind, subtype, masking, words in _edges.decode(body)
            )
            found[id_] = edges
            _held += len(edges)
            if _held > _REMEMBERED:
                _remembered.clear()
                _held = len(edges)
            _remembered[id_] = edges
    return found
