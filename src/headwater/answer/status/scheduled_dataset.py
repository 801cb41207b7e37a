"""One dataset with its schedules: the catalog's answer, and which declared entities it holds."""

import datetime as dt

import msgspec

from headwater.answer.lineage import catalog
from headwater.answer.lineage.completeness import Completeness, completeness
from headwater.answer.lineage.find import node_row
from headwater.answer.status.schedules import Schedule, of_datasets
from headwater.store.database import Database


class ScheduledDataset(catalog.Dataset, kw_only=True, tag="DATASET"):
    """`schedules`: as they are now, also for an earlier time. `completeness`: how much of its lineage is known."""

    schedules: list[Schedule]
    completeness: Completeness


async def dataset(database: Database, namespace: str, name: str, as_of: dt.datetime | None = None) -> ScheduledDataset:
    """Return what `catalog.dataset` returns, with schedules. Raises NotFound."""
    found = await catalog.dataset(database, namespace, name, as_of)
    async with database.snapshot() as connection:
        row = await node_row(connection, found.id)
        schedules = (await of_datasets(connection, [row.id])).get(row.id, [])
        known = await completeness(connection, row.id, as_of)
    return ScheduledDataset(**msgspec.structs.asdict(found), schedules=schedules, completeness=known)
