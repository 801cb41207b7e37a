"""Plans, and the outcome of their items. The meaning of an item is not known here."""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection

State = Literal["planned", "running", "paused", "done", "failed", "cancelled"]


class StoredPlan(msgspec.Struct, frozen=True):
    """`seq` and `declared_at`: what it was made from. `items`: how many. `request` is JSON text."""

    id: uuid.UUID
    created_at: dt.datetime
    created_by: str
    reason: str
    state: State
    changed_at: dt.datetime
    seq: int
    declared_at: dt.datetime
    items: int
    request: str


class StoredItem(msgspec.Struct, frozen=True):
    """The outcome of an item: running until `lease_until`, done, skipped or failed."""

    number: int
    state: Literal["running", "done", "skipped", "failed"]
    attempt: int
    worker: str
    run: str
    note: str
    began_at: dt.datetime
    lease_until: dt.datetime | None
    ended_at: dt.datetime | None


class Ended(NamedTuple):
    """An item that is over."""

    number: int
    state: str
    attempt: int
    worker: str
    run: str
    note: str


async def add(
    connection: Connection,
    id_: uuid.UUID,
    at: dt.datetime,
    by: str,
    reason: str,
    *,
    seq: int,
    declared_at: dt.datetime,
    items: int,
    request: str,
    inputs: str,
) -> None:
    """Keep a new one."""
    await sqlfile.load("plans")["add"].exec(
        connection,
        id=id_,
        at=at,
        by=by,
        reason=reason,
        seq=seq,
        declared_at=declared_at,
        items=items,
        request=request,
        inputs=inputs,
    )


async def named(connection: Connection, id_: uuid.UUID) -> StoredPlan | None:
    row = await sqlfile.load("plans")["named"].maybe(connection, id=id_)
    return None if row is None else StoredPlan(*row)


async def locked(connection: Connection, id_: uuid.UUID) -> StoredPlan | None:
    """Return a plan as `named` does, and lock it until the transaction ends."""
    row = await sqlfile.load("plans")["locked"].maybe(connection, id=id_)
    return None if row is None else StoredPlan(*row)


async def inputs(connection: Connection, id_: uuid.UUID) -> str:
    """Return the inputs that a plan is computed from, as JSON text. The plan must exist."""
    (text,) = await sqlfile.load("plans")["inputs"].one(connection, id=id_)
    return str(text)


async def page(
    connection: Connection, state: str | None, incident: uuid.UUID | None, limit: int, offset: int
) -> tuple[list[StoredPlan], int]:
    """Return the plans in a state and for an incident, the latest first, and how many there are."""
    rows = await sqlfile.load("plans")["page"].many(
        connection, state=state, incident=None if incident is None else str(incident), limit=limit, offset=offset
    )
    return [StoredPlan(*row[:-1]) for row in rows], int(rows[0][-1]) if rows else 0


async def become(connection: Connection, id_: uuid.UUID, state: State) -> None:
    await sqlfile.load("plans")["state"].exec(connection, id=id_, state=state)


async def items(connection: Connection, id_: uuid.UUID) -> list[StoredItem]:
    """Return the items that have an outcome, by number."""
    return [StoredItem(*row) for row in await sqlfile.load("plans")["items"].many(connection, plan=id_)]


async def take(
    connection: Connection, id_: uuid.UUID, number: int, attempt: int, worker: str, lease_until: dt.datetime
) -> None:
    """Mark it as worked on."""
    await sqlfile.load("plans")["take"].exec(
        connection, plan=id_, number=number, attempt=attempt, worker=worker, lease_until=lease_until
    )


async def renew(
    connection: Connection, id_: uuid.UUID, number: int, attempt: int, lease_until: dt.datetime, run: str
) -> bool:
    """Renew the lease of an item's attempt, by this run; return False if that attempt is over."""
    return bool(
        await sqlfile.load("plans")["renew"].exec(
            connection, plan=id_, number=number, attempt=attempt, lease_until=lease_until, run=run
        )
    )


async def end(connection: Connection, id_: uuid.UUID, ended: Sequence[Ended]) -> None:
    """Record the outcomes of items that ended."""
    if ended:
        columns = dict(zip(Ended._fields, zip(*ended, strict=True), strict=True))
        types = {"number": "int8", "attempt": "int4"}
        await sqlfile.load("plans")["end"].exec(
            connection,
            plan=id_,
            **{name: Packed(types.get(name, "text"), list(values)) for name, values in columns.items()},
        )


async def again(connection: Connection, id_: uuid.UUID) -> None:
    """Let failed items be taken once more."""
    await sqlfile.load("plans")["again"].exec(connection, plan=id_)
