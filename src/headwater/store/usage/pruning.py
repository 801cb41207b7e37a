"""Datasets that may be removed, as the query-log pipeline reported them, in a safe order of removal. A dataset with several names is one."""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from headwater.model.measured import Pruning, Usage
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.usage.measured import PRUNING, USAGE


class PruningRow(msgspec.Struct, frozen=True):
    """One dataset: why it can be removed, and how it is used."""

    id: uuid.UUID
    namespace: str
    name: str
    at: dt.datetime
    pruning: Pruning
    usage: Usage


class WaveTotal(msgspec.Struct, frozen=True):
    """Datasets that can go together, once those of the waves before are gone."""

    wave: int
    datasets: int
    money_month: float | None
    at: dt.datetime


class Wanted(msgspec.Struct, frozen=True):
    """A filter of datasets: of a namespace, up to a wave, with at least this confidence, none of those that are `used`. `later`: waves of datasets
    that the database does not drop before others, in place of those of the log."""

    namespace: str | None = None
    last_wave: int | None = None
    confidence: float = 0.0
    used: Collection[uuid.UUID] = ()
    later: Mapping[uuid.UUID, int] = {}

    def parameters(self) -> dict[str, object]:
        own = {"namespace": self.namespace, "last_wave": self.last_wave, "confidence": self.confidence}
        return own | {"used": list(self.used), "moved": list(self.later), "waves": list(self.later.values())}


async def page(
    connection: Connection, wanted: Wanted, *, sort: str, descending: bool, limit: int, offset: int
) -> list[PruningRow]:
    """Return a page of datasets; `wave` ascending is the safe order."""
    rows = await sqlfile.load("usage/pruning")["page"].dicts(
        connection, **wanted.parameters(), sort=sort, sign=-1 if descending else 1, limit=limit, offset=offset
    )
    return [
        PruningRow(row["id"], row["namespace"], row["name"], row["at"], PRUNING.read(row), USAGE.read(row))
        for row in rows
    ]


async def waves(connection: Connection, wanted: Wanted) -> list[WaveTotal]:
    """Return the totals of each wave, the first first."""
    return [
        WaveTotal(*row) for row in await sqlfile.load("usage/pruning")["waves"].many(connection, **wanted.parameters())
    ]


class Named(NamedTuple):
    """A dataset by the id that stands for all its names, and the last of their waves."""

    id: uuid.UUID
    namespace: str
    name: str
    wave: int


class Reading(NamedTuple):
    """A job that reads a dataset now. `drawn`: a person drew the edge. The names are None if no job is behind it, but another dataset."""

    dataset: uuid.UUID
    job: uuid.UUID
    drawn: bool
    last_at: dt.datetime
    namespace: str | None
    name: str | None


async def candidates(connection: Connection) -> list[Named]:
    """Return every dataset that the query log alone would advise to remove."""
    return [Named(*row) for row in await sqlfile.load("usage/pruning")["candidates"].many(connection)]


async def readers(connection: Connection, ids: Collection[uuid.UUID]) -> list[Reading]:
    """Return the reads of these datasets that the query log did not judge, the last use first."""
    return [Reading(*row) for row in await sqlfile.load("usage/pruning")["readers"].many(connection, ids=list(ids))]


async def feeding(connection: Connection, ids: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Return pairs of these datasets: a job reads the first and writes the second now."""
    rows = await sqlfile.load("usage/pruning")["feeding"].many(connection, ids=list(ids))
    return [(row[0], row[1]) for row in rows]


async def last_reports(connection: Connection, entities: Collection[str]) -> dict[str, dt.datetime]:
    """Return the time of the last report about instances of each entity, of those that have one."""
    rows = await sqlfile.load("usage/pruning")["reported"].many(connection, entities=list(entities))
    return {row[0]: row[1] for row in rows}
