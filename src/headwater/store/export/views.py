"""Keep the schema `lineage` as `views.sql` has it, and read its views. Refuses to filter: that is what SQL is for.

The views are no migration: they hold nothing, so they are replaced whole whenever their text has changed, and a migration that changes a column below
them only has to drop the schema first. Decision 030 says why.
"""

import hashlib
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any, NamedTuple

from psycopg import sql

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "export/views"


class ViewColumn(NamedTuple):
    """A column of a view: `type` in PostgreSQL's words."""

    view: str
    name: str
    type: str
    description: str


async def replace(connection: Connection) -> bool:
    """Make the views as this version has them, and let the role `headwater_reader` read them and nothing else; False if they were so.

    The role is made if it is missing and the user of the connection may make roles; else the views are there without it.
    """
    text = resources.files("headwater.store.export").joinpath("views.sql").read_text(encoding="utf-8")
    mark = hashlib.sha256(text.encode()).hexdigest()
    (there,) = await sqlfile.load(_QUERIES)["mark"].one(connection)
    if there == f"Headwater's views, {mark}":
        return False
    await connection.execute(text)
    await connection.execute(sql.SQL("comment on schema lineage is {}").format(f"Headwater's views, {mark}"))
    return True


async def columns(connection: Connection) -> list[ViewColumn]:
    """Return every column of every view, in the order of the views."""
    return [ViewColumn(*row) for row in await sqlfile.load(_QUERIES)["columns"].many(connection)]


async def rows(connection: Connection, view: str, portion: int = 10_000) -> AsyncIterator[list[tuple[Any, ...]]]:
    """The rows of a view in portions, whatever its size: a cursor of the server holds the rest. `view` is one that `columns` names."""
    async with connection.cursor(name=f"export_{view}") as cursor:
        await cursor.execute(sql.SQL("select * from lineage.{}").format(sql.Identifier(view)))
        while found := await cursor.fetchmany(portion):
            yield found


async def count(connection: Connection, view: str) -> int:
    """Return the number of rows of a view."""
    cursor = await connection.execute(sql.SQL("select count(*) from lineage.{}").format(sql.Identifier(view)))
    (row,) = await cursor.fetchall()
    return int(row[0])
