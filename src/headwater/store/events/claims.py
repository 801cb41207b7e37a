"""The writers of items' ids: the run and dataset that wrote each."""

import uuid
from collections.abc import Collection

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class Writer(msgspec.Struct, frozen=True):
    """A job's run that wrote a dataset."""

    dataset_id: uuid.UUID | None
    run_id: uuid.UUID
    job_id: uuid.UUID | None


async def writers(connection: Connection, items: Collection[uuid.UUID]) -> dict[uuid.UUID, Writer]:
    """Writers of the items that have one; an item that was only read or named has none."""
    rows = await sqlfile.load("events/claims")["writers"].many(connection, ids=list(items))
    return {row[0]: Writer(*row[1:]) for row in rows}
