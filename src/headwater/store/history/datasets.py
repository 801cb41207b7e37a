"""Versions of datasets and the schemas they had."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection


class VersionRow(msgspec.Struct, frozen=True):
    """The version that one run wrote, or that a DatasetEvent reported."""

    id: uuid.UUID
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    external_version: str
    declared: bool
    first_at: dt.datetime
    written_at: dt.datetime
    state: RunState
    dataset_id: uuid.UUID
    schema_id: uuid.UUID | None
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None


def _row(row: sqlfile.Row) -> VersionRow:
    return VersionRow(*(*row[:7], RunState(row[7]), *row[8:]))


async def versions(
    connection: Connection, dataset: uuid.UUID, as_of: dt.datetime | str, limit: int, offset: int = 0
) -> list[VersionRow]:
    """Return the versions of a dataset, the latest first."""
    rows = await sqlfile.load("history/datasets")["versions"].many(
        connection, dataset_id=dataset, as_of=as_of, limit=limit, offset=offset
    )
    return [_row(row) for row in rows]


async def version(connection: Connection, id_: uuid.UUID) -> VersionRow | None:
    rows = await sqlfile.load("history/datasets")["version"].many(connection, id=id_)
    return _row(rows[0]) if rows else None


async def version_counts(
    connection: Connection, datasets: Collection[uuid.UUID], as_of: dt.datetime | str
) -> dict[uuid.UUID, int]:
    if not datasets:
        return {}
    return dict(
        await sqlfile.load("history/datasets")["version_counts"].many(connection, ids=list(datasets), as_of=as_of)
    )


async def schemas_as_of(
    connection: Connection, datasets: Collection[uuid.UUID], as_of: dt.datetime
) -> dict[uuid.UUID, bytes]:
    """Return the schema bodies of the latest versions at a time."""
    if not datasets:
        return {}
    return dict(
        await sqlfile.load("history/datasets")["schema_as_of"].many(connection, ids=list(datasets), as_of=as_of)
    )
