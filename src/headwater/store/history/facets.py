"""Facets of datasets and jobs: what holds at a time, and what held before. Facets of runs are in the log (see `events.of_runs`)."""

import datetime as dt
import uuid
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Past(msgspec.Struct, frozen=True):
    """One body of a facet and when it was first and last reported."""

    name: str
    body_id: uuid.UUID
    first_at: dt.datetime
    last_at: dt.datetime
    deleted: bool
    body: bytes


class DatasetFacet(NamedTuple):
    """One body that a facet had at a dataset. `dataset`: by the name that stands for it; `is_last`: no other was reported since."""

    dataset: uuid.UUID
    namespace: str
    name: str
    is_last: bool
    body: bytes


async def of_owners(
    connection: Connection,
    owners: Collection[uuid.UUID],
    names: Collection[str] | None = None,
    as_of: dt.datetime | str = "infinity",
) -> dict[uuid.UUID, dict[str, bytes]]:
    """Return the body of each facet, by owner and facet name; a dataset's under any of its names. Owners without facets are absent."""
    found: dict[uuid.UUID, dict[str, bytes]] = {}
    if owners:
        rows = await sqlfile.load("history/facets")["of_owners"].many(
            connection, owners=list(owners), names=None if names is None else list(names), as_of=as_of
        )
        for owner, name, _at, _body_id, body in rows:
            found.setdefault(owner, {})[name] = body
    return found


async def bodies_of(
    connection: Connection, owners: Collection[uuid.UUID], name: str, as_of: dt.datetime | str = "infinity"
) -> list[tuple[uuid.UUID, bytes]]:
    """Return (owner, body) of every body that a facet had until then; a dataset's under any of its names."""
    if not owners:
        return []
    query = sqlfile.load("history/facets")["bodies_of"]
    rows = await query.many(connection, owners=list(owners), name=name, as_of=as_of)
    return [(row[0], bytes(row[1])) for row in rows]


async def history(connection: Connection, owner: uuid.UUID, name: str | None, limit: int) -> list[Past]:
    """Return every body of a facet (or of all facets) of a dataset or job, by name, the latest first."""
    rows = await sqlfile.load("history/facets")["history"].many(connection, owner=owner, name=name, limit=limit)
    return [Past(*row) for row in rows]


async def of_name(connection: Connection, name: str, as_of: dt.datetime | str = "infinity") -> list[DatasetFacet]:
    """Return every body that the facet of this name had at any dataset until then, but for what was deleted last."""
    rows = await sqlfile.load("history/facets")["of_name"].many(connection, name=name, as_of=as_of)
    return [DatasetFacet(*row) for row in rows]


async def bodies(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, bytes]:
    if not ids:
        return {}
    return dict(await sqlfile.load("history/facets")["bodies"].many(connection, ids=list(ids)))
