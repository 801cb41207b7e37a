"""Violations of applied policies, since a look found them."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "privacy/violations"
_MOST = 10_000


class StoredViolation(NamedTuple):
    """`subject`: the dataset's node id; `field`: a column, or empty. `path`: node ids from the cause to it."""

    id: uuid.UUID
    policy: str
    dataset: uuid.UUID
    subject: str
    label: str
    field: str
    text: str
    path: list[str]
    since: dt.datetime
    until: dt.datetime | None


class FoundViolation(NamedTuple):
    policy: str
    dataset: uuid.UUID
    subject: str
    label: str
    field: str
    text: str
    path: list[str]


async def load_open(connection: Connection) -> list[StoredViolation]:
    return [StoredViolation(*row) for row in await sqlfile.load(_QUERIES)["open"].many(connection)]


async def began(connection: Connection, since: dt.datetime, until: dt.datetime) -> list[StoredViolation]:
    rows = await sqlfile.load(_QUERIES)["began"].many(connection, since=since, until=until, limit=_MOST)
    return [StoredViolation(*row) for row in rows]


async def add(connection: Connection, found: Sequence[FoundViolation]) -> None:
    """Keep violations that begin now, under new ids: one that ended and is there again is another."""
    await sqlfile.load(_QUERIES)["add"].exec(
        connection, ids=[uuid.uuid4() for _ in found], policies=[one.policy for one in found], datasets=[one.dataset for one in found],
        subjects=[one.subject for one in found], labels=[one.label for one in found], fields=[one.field for one in found],
        texts=[one.text for one in found], paths=["\n".join(one.path) for one in found],
    )  # fmt: skip


async def end(connection: Connection, ids: Collection[uuid.UUID]) -> None:
    await sqlfile.load(_QUERIES)["end"].exec(connection, ids=list(ids))
