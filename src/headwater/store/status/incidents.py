"""Verdicts on versions, and what became of them. Which instances they are about is in the marks."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.status.histories import Column
from headwater.store.status.status import Window, packed

State = Literal["open", "fixed", "retracted"]


class Incident(msgspec.Struct, frozen=True):
    """`fixed_at`: what was produced from then on is right; a new version of what was wrong before that is not."""

    id: uuid.UUID
    opened_seq: int
    opened_at: dt.datetime
    opened_by: str
    reason: str
    state: State
    fixed_at: dt.datetime | None
    closed_at: dt.datetime | None
    closed_by: str | None
    note: str


class Root(NamedTuple):
    """Instances that an incident condemned, and the code that had made them; `""` if unknown."""

    incident: uuid.UUID
    entity_id: int
    code: str
    start_: int
    end_: int


class Marked(NamedTuple):
    """Marks of one kind on runs of an entity's instances, which the report `seq` sets."""

    entity_id: int
    seq: int
    kind: str
    starts: Column
    ends: Column


class Marks(NamedTuple):
    """Runs of instances that have some mark; of several marks they may overlap."""

    entity_id: Column
    start_: Column
    end_: Column


class OfColumns(NamedTuple):
    """The columns of an entity that may be wrong because of an incident about only some columns: `columns` None: all.
    `since`: when the first of the condemned versions was made."""

    incident: uuid.UUID
    entity_id: int
    columns: list[str] | None
    since: dt.datetime | None


Pair = tuple[uuid.UUID, int, int]
"""An upstream and a downstream entity of an incident, between which no wrong column is carried."""


async def open_(connection: Connection, id_: uuid.UUID, seq: int, at: dt.datetime, by: str, reason: str) -> None:
    """Keep a new one; one that is known stays as it is."""
    await sqlfile.load("status/incidents")["open"].exec(connection, id=id_, seq=seq, at=at, by=by, reason=reason)


async def named(connection: Connection, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Incident]:
    """Return those of these incidents that exist, by id."""
    rows = await sqlfile.load("status/incidents")["named"].many(connection, ids=Packed("uuid", list(ids)))
    return {row[0]: Incident(*row) for row in rows}


async def page(connection: Connection, state: str | None, limit: int, offset: int) -> tuple[list[Incident], int]:
    """Return the incidents, the latest first, and how many there are altogether."""
    queries = sqlfile.load("status/incidents")
    rows = await queries["page"].many(connection, state=state, limit=limit, offset=offset)
    (count,) = await queries["count"].one(connection, state=state)
    return [Incident(*row) for row in rows], int(count)


async def fixed(
    connection: Connection, id_: uuid.UUID, fixed_at: dt.datetime, at: dt.datetime, by: str, note: str
) -> None:
    """Mark an incident as fixed: what is produced from `fixed_at` on is right."""
    await sqlfile.load("status/incidents")["fixed"].exec(connection, id=id_, fixed_at=fixed_at, at=at, by=by, note=note)


async def retracted(connection: Connection, id_: uuid.UUID, at: dt.datetime, by: str, note: str) -> None:
    """Mark an incident as retracted: it was a false alarm."""
    await sqlfile.load("status/incidents")["retracted"].exec(connection, id=id_, at=at, by=by, note=note)


async def condemn(connection: Connection, roots: Sequence[Root]) -> None:
    """Keep what an incident is about."""
    if roots:
        await sqlfile.load("status/incidents")["condemn"].send_columns(connection, Root._fields, roots)


async def roots(connection: Connection, ids: Sequence[uuid.UUID]) -> list[Root]:
    """Return the instances that these incidents are about."""
    rows = await sqlfile.load("status/incidents")["roots"].many(connection, ids=Packed("uuid", list(ids)))
    return [Root(*row) for row in rows]


async def restrict(connection: Connection, some: Sequence[OfColumns]) -> None:
    """Keep that incidents are about some columns only."""
    for one in some:
        await sqlfile.load("status/incidents")["restrict"].exec(connection, **one._asdict())


async def columns(connection: Connection, id_: uuid.UUID) -> list[OfColumns]:
    """Return the columns that may be wrong, by entity; none for an incident about whole instances."""
    rows = await sqlfile.load("status/incidents")["columns"].many(connection, id=id_)
    return [OfColumns(*row) for row in rows]


async def spare(connection: Connection, some: Sequence[Pair]) -> None:
    """Store the pairs of entities that an incident does not affect."""
    if some:
        await sqlfile.load("status/incidents")["spare"].send_columns(
            connection, ("incident", "upstream_id", "downstream_id"), some
        )


async def spared(connection: Connection, ids: Sequence[uuid.UUID]) -> list[Pair]:
    """The pairs of entities that these incidents do not affect."""
    if not ids:
        return []
    rows = await sqlfile.load("status/incidents")["spared"].many(connection, ids=Packed("uuid", list(ids)))
    return [(row[0], row[1], row[2]) for row in rows]


async def spare_no_more(connection: Connection, id_: uuid.UUID, upstream_id: int, downstream_id: int) -> None:
    """The one affects the other after all; of that all columns may be wrong, and all that use it are affected."""
    await sqlfile.load("status/incidents")["spare_no_more"].exec(
        connection, id=id_, upstream_id=upstream_id, downstream_id=downstream_id
    )


async def about(connection: Connection, windows: Sequence[Window]) -> list[uuid.UUID]:
    """Incidents that are not retracted and condemned any instance in these windows."""
    if not windows:
        return []
    rows = await sqlfile.load("status/incidents")["about"].many(connection, **packed(windows))
    return [row[0] for row in rows]


async def mark(connection: Connection, ref: str, some: Sequence[Marked]) -> None:
    """Set the marks of a new incident, which has none yet. Under `status.alone`, after the reports."""
    if not some:
        return
    kinds = sorted({one.kind for one in some})
    runs = [one.starts.size for one in some]
    each = [(one.entity_id, one.seq, kinds.index(one.kind) + 1) for one in some]
    entity_id, seq, kind = np.repeat(np.array(each, dtype=np.int64), runs, axis=0).T
    start, end = (np.concatenate([one[side] for one in some]) for side in (3, 4))
    # In the order of the table's key, so that its pages are written one after the other.
    order = np.lexsort((end, entity_id))
    await sqlfile.load("status/incidents")["mark"].exec(
        connection,
        ref=ref,
        kinds=Packed("text", kinds),
        entity_id=Packed("int4", entity_id[order]),
        seq=Packed("int8", seq[order]),
        kind=Packed("int4", kind[order]),
        start_=Packed("int8", start[order]),
        end_=Packed("int8", end[order]),
    )


async def marked(connection: Connection, kinds: Sequence[str], ref: str) -> Marks:
    """Return all marks of these kinds (no states) with a ref, of all entities."""
    found = await sqlfile.load("status/incidents")["marked"].raw(connection, kinds=Packed("text", list(kinds)), ref=ref)
    return Marks(
        *(
            np.frombuffer(column or b"", f">i{width}").astype(np.int64)
            for column, width in zip(found, (4, 8, 8), strict=True)
        )
    )


async def unmark(connection: Connection, kinds: Sequence[str], ref: str, seqs: Mapping[int, int]) -> None:
    """Remove them from all instances that have them. `seqs`: by entity the report that does. Under `status.alone`, after the reports."""
    pairs = np.array(list(seqs.items()), dtype=np.int64).reshape(-1, 2)
    await sqlfile.load("status/incidents")["unmark"].exec(
        connection,
        kinds=Packed("text", list(kinds)),
        ref=ref,
        entity_id=Packed("int4", pairs[:, 0]),
        seq=Packed("int8", pairs[:, 1]),
    )
