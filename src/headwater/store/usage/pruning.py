"""Datasets that may be removed, as the query-log pipeline reported them, in a safe order of removal. A dataset with several names is one."""

import datetime as dt
import uuid

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
    """A filter of datasets: of a namespace, up to a wave, with at least this confidence."""

    namespace: str | None = None
    last_wave: int | None = None
    confidence: float = 0.0

    def parameters(self) -> dict[str, object]:
        return msgspec.structs.asdict(self)


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
