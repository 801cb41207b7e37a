"""Reading with limits: statements of a limited reader's connection meet views in place of tables (`limited.sql`).

The limits are applied below every answer, so no answer can forget them. Refuses to write.
"""

import uuid
from collections.abc import Collection
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Any

from psycopg import AsyncConnection, sql

from headwater.model.limits import ReaderLimits
from headwater.store import sqlfile

# Not among the named queries: the view is on a limited reader's connection alone.
_LEFT_OUT = sql.SQL("select count(distinct job_id) from left_out_edges where dataset_id = any(%(datasets)s::uuid[])")

reader_limits: ContextVar[ReaderLimits | None] = ContextVar("reader_limits", default=None)
"""The limits of the reader that this task answers; None: it may see everything."""


def is_limited() -> bool:
    """Return whether this task answers a reader with limits: what was read without them is no answer to it."""
    return reader_limits.get() is not None


@cache
def _views() -> str:
    return resources.files("headwater.store").joinpath("limited.sql").read_text(encoding="utf-8")


async def shadow_tables(connection: AsyncConnection[Any]) -> None:
    """Put a view before every table and view of the schema, for this connection's life: those of `limited.sql`, and empty ones for all others.

    An empty one has the columns and depends on nothing: retention drops months of the log while the connection is open.
    """
    queries = sqlfile.load("limited")
    (schema,) = await queries["schema"].one(connection)
    text = _views().replace("stored.", f"{sql.Identifier(schema).as_string(connection)}.")
    await connection.execute(text.encode())
    for name, columns in await queries["unshadowed"].many(connection, schema=schema):
        view = sql.Identifier(name).as_string(connection)
        await connection.execute(f"create temp view {view} as select {columns} where false".encode())


async def apply_limits(connection: AsyncConnection[Any], limits: ReaderLimits) -> None:
    """Let the views show what these limits allow, until the transaction ends."""
    await sqlfile.load("limited")["apply"].exec(connection, namespaces=list(limits.namespaces), tags=list(limits.tags))


async def count_left_out(connection: AsyncConnection[Any], datasets: Collection[uuid.UUID]) -> int:
    """Return how many jobs next to these datasets the reader may not see; 0 for a reader without limits."""
    if not is_limited():
        return 0
    cursor = await connection.execute(_LEFT_OUT, {"datasets": list(datasets)})
    (row,) = await cursor.fetchall()
    return int(row[0])
