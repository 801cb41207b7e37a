"""Declarations of entities, now and at any time before. Their meaning is not known here: one is a name, a calendar's text, and JSON."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection


class Applied(msgspec.Struct, frozen=True):
    """One state of all declarations; `id` is that of no other, in any database."""

    number: int
    id: uuid.UUID


class Once(msgspec.Struct, frozen=True):
    """The declaration of an entity for a while; `until` None: it still holds."""

    since: dt.datetime
    until: dt.datetime | None
    author: str
    body: bytes


async def applied(connection: Connection, at: dt.datetime | str = "infinity") -> Applied | None:
    """The state at a time; None before anything was declared."""
    row = await sqlfile.load("status/entities")["applied"].maybe(connection, at=at)
    return None if row is None else Applied(*row)


async def alone(connection: Connection) -> None:
    """Lock the declarations until the transaction ends."""
    await sqlfile.load("status/entities")["alone"].exec(connection)


async def declared(connection: Connection, at: dt.datetime | str = "infinity") -> list[tuple[int, bytes]]:
    """Return (id, canonical JSON) of all entities at a time."""
    rows = await sqlfile.load("status/entities")["declared"].many(connection, at=at)
    return [(row[0], row[1].encode()) for row in rows]


async def named(connection: Connection, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return the id and calendar of those of the names that are taken now."""
    rows = await sqlfile.load("status/entities")["named"].many(connection, names=Packed("text", list(names)))
    return {row[0]: (row[1], row[2]) for row in rows}


async def change(
    connection: Connection,
    author: str,
    changes: str,
    *,
    ended: Sequence[int],
    unnamed: Sequence[int],
    renamed: Mapping[int, str],
    added: Sequence[tuple[str, str]],
    declared: Mapping[str, str],
    kept: Mapping[str, int],
) -> Applied:
    """Write one apply of declarations. Under `alone`.

    `ended`: declarations that hold no longer; `unnamed`: rows whose name is free again; `renamed`: by id; `added`:
    (name, calendar) of new rows; `declared`: JSON by name, of those in `added` and `kept` (ids of existing rows).
    """
    queries = sqlfile.load("status/entities")
    number, id_, at = await queries["apply"].one(connection, author=author, changes=changes)
    if ended:
        await queries["end"].exec(connection, at=at, ids=Packed("int4", list(ended)))
    if unnamed:
        await queries["unname"].exec(connection, ids=Packed("int4", list(unnamed)))
    if renamed:
        # Two may take each other's names: none has its name in between.
        await queries["unname"].exec(connection, ids=Packed("int4", list(renamed)))
        await queries["rename"].exec(
            connection, id=Packed("int4", list(renamed)), name=Packed("text", list(renamed.values()))
        )
    ids = dict(kept)
    if added:
        ids |= await queries["add"].many(
            connection,
            name=Packed("text", [name for name, _ in added]),
            calendar=Packed("text", [calendar for _, calendar in added]),
        )
    if declared:
        await queries["declare"].exec(
            connection,
            at=at,
            number=number,
            id=Packed("int4", [ids[name] for name in declared]),
            body=Packed("text", list(declared.values())),
        )
    return Applied(number, id_)


async def history(connection: Connection, name: str, limit: int, offset: int) -> list[Once]:
    """Return the declarations under a name, and the earlier ones under other names of what has the name now, the latest first."""
    rows = await sqlfile.load("status/entities")["history"].many(connection, name=name, limit=limit, offset=offset)
    return [Once(row[0], row[1], row[2], row[3].encode()) for row in rows]
