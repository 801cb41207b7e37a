"""Versions of rules and policies as people applied them. What their texts mean is not known here."""

import datetime as dt
from typing import Literal, NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "alerts/applied_rules"
Kind = Literal["rules", "policies"]


class AppliedFiles(NamedTuple):
    """`files`: JSON text, [{name, text}]."""

    version: int
    files: str
    applied_at: dt.datetime
    applied_by: str


async def apply(connection: Connection, kind: Kind, files: str, by: str) -> tuple[int, dt.datetime]:
    """Add a version; return its number and time."""
    version, at = await sqlfile.load(_QUERIES)["apply"].one(connection, kind=kind, files=files, applied_by=by)
    return version, at


async def lock(connection: Connection) -> None:
    """Wait until no other transaction applies files; then none does until this one ends."""
    await sqlfile.load(_QUERIES)["lock"].exec(connection)


async def versions(connection: Connection, kind: Kind, limit: int) -> list[AppliedFiles]:
    """Return the versions, the latest first."""
    return [
        AppliedFiles(*row) for row in await sqlfile.load(_QUERIES)["versions"].many(connection, kind=kind, limit=limit)
    ]


async def version(connection: Connection, kind: Kind, number: int) -> AppliedFiles | None:
    row = await sqlfile.load(_QUERIES)["version"].maybe(connection, kind=kind, version=number)
    return AppliedFiles(*row) if row else None
