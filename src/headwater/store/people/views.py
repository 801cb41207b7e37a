"""Saved views: addresses of the page under a name. The owner is empty for views of everyone."""

import datetime as dt

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class ViewRow(msgspec.Struct, frozen=True):
    """One row of `views`."""

    owner: str
    name: str
    address: str
    author: str
    at: dt.datetime


async def of_owner(connection: Connection, owner: str) -> list[ViewRow]:
    """Return the views of everyone and those of this person, by name."""
    return [ViewRow(*row) for row in await sqlfile.load("people/views")["of_owner"].many(connection, owner=owner)]


async def store(connection: Connection, owner: str, name: str, address: str, author: str) -> ViewRow:
    """Save a view, in place of the one that has the name."""
    query = sqlfile.load("people/views")["store"]
    return ViewRow(*await query.one(connection, owner=owner, name=name, address=address, author=author))


async def count(connection: Connection, owner: str, name: str) -> int:
    """Count the views of this owner beside the one of this name."""
    return int((await sqlfile.load("people/views")["count"].one(connection, owner=owner, name=name))[0])


async def remove(connection: Connection, owner: str, name: str) -> ViewRow | None:
    """Remove a view; None if there is none of this name."""
    row = await sqlfile.load("people/views")["remove"].maybe(connection, owner=owner, name=name)
    return ViewRow(*row) if row else None
