"""Named queries: `-- name: jobs_by_id :many`, a line of prose, then SQL. Nothing else in Headwater holds SQL text.

Kinds: `exec` (no rows), `one` (exactly one row), `maybe` (a row or none), `many`.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, LiteralString, cast

import msgspec
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row, tuple_row

from headwater.store.arrays import Packed

_HEADER = re.compile(r"^-- name: (\w+) :(exec|one|maybe|many)$", re.MULTILINE)
_ARRAY = re.compile(r"%\((\w+)\)b::(\w+)\[\]")

Row = tuple[Any, ...]


class Query(msgspec.Struct, frozen=True):
    """One query of one file."""

    name: str
    kind: str
    sql: LiteralString

    async def many(self, connection: AsyncConnection[Any], **parameters: object) -> list[Row]:
        async with connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(self.sql, _packed(parameters))
            return await cursor.fetchall()

    async def packed(self, connection: AsyncConnection[Any], **parameters: object) -> list[Row]:
        """Return the rows as `many` does, sent in PostgreSQL's binary form: for thousands of rows of ids and times, which are read quicker so."""
        async with connection.cursor(binary=True, row_factory=tuple_row) as cursor:
            await cursor.execute(self.sql, _packed(parameters))
            return await cursor.fetchall()

    async def dicts(self, connection: AsyncConnection[Any], **parameters: object) -> list[dict[str, Any]]:
        """The rows by the names of their columns."""
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(self.sql, _packed(parameters))
            return await cursor.fetchall()

    async def maybe(self, connection: AsyncConnection[Any], **parameters: object) -> Row | None:
        rows = await self.many(connection, **parameters)
        return rows[0] if rows else None

    async def one(self, connection: AsyncConnection[Any], **parameters: object) -> Row:
        (row,) = await self.many(connection, **parameters)
        return row

    async def raw(self, connection: AsyncConnection[Any], **parameters: object) -> Row:
        """Return the columns of exactly one row as they are sent: those of `bytea` are the bytes themselves."""
        async with connection.cursor(binary=True, row_factory=tuple_row) as cursor:
            await cursor.execute(self.sql, _packed(parameters))
            (row,) = await cursor.fetchall()
        return row

    async def exec(self, connection: AsyncConnection[Any], **parameters: object) -> int:
        """Run it; the number of rows it touched."""
        async with connection.cursor() as cursor:
            await cursor.execute(self.sql, _packed(parameters))
            return cursor.rowcount

    async def send_columns(
        self, connection: AsyncConnection[Any], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
    ) -> AsyncCursor[Any]:
        """Send as `send` does, with each column of the rows as an array of the type the text casts it to (`%(name)b::type[]`)."""
        types = _array_types(self.sql)
        packed = {
            name: Packed(types[name], values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)
        }
        return await self.send(connection, **packed)

    async def send(self, connection: AsyncConnection[Any], **parameters: object) -> AsyncCursor[Any]:
        """Send it without waiting, inside `connection.pipeline()`; rows are fetched from the cursor after the pipeline."""
        cursor = connection.cursor(row_factory=tuple_row)
        await cursor.execute(self.sql, _packed(parameters))
        return cursor


def _packed(parameters: Mapping[str, object]) -> dict[str, object]:
    """Lists of ids packed whole: answers pass thousands, and the driver would look at each."""
    return {
        name: Packed("uuid", value) if type(value) is list and value and type(value[0]) is uuid.UUID else value
        for name, value in parameters.items()
    }


@cache
def _array_types(sql: str) -> dict[str, str]:
    return dict(_ARRAY.findall(sql))


@cache
def load(aggregate: str) -> dict[str, Query]:
    """The queries of `queries/{aggregate}.sql` by name."""
    text = resources.files("headwater.store").joinpath(f"queries/{aggregate}.sql").read_text(encoding="utf-8")
    parts = _HEADER.split(text)
    return {
        name: Query(name, kind, cast("LiteralString", body.strip()))
        for name, kind, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }
