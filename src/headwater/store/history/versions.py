"""The versions of a dataset: one by its id, the one before it, its parts, and the schemas it has had."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.history.datasets import VersionRow


class SchemaStretch(msgspec.Struct, frozen=True):
    """Versions in a row that had the same schema; the version, run and job that began it."""

    schema_id: uuid.UUID
    first_at: dt.datetime
    last_at: dt.datetime
    versions: int
    version_id: uuid.UUID
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None


def _row(row: sqlfile.Row) -> VersionRow:
    return VersionRow(*(*row[:7], RunState(row[7]), *row[8:]))


async def find(connection: Connection, dataset: uuid.UUID, text: str) -> VersionRow | None:
    """A version by its id, or the latest with this external version."""
    try:
        id_ = uuid.UUID(text)
    except ValueError:
        id_ = None
    row = await sqlfile.load("history/versions")["find"].maybe(connection, dataset=dataset, id=id_, external=text)
    return None if row is None else _row(row)


async def before(connection: Connection, dataset: uuid.UUID, version: VersionRow) -> VersionRow | None:
    """Return the version that was current before this one was written."""
    row = await sqlfile.load("history/versions")["before"].maybe(
        connection, dataset=dataset, id=version.id, written_at=version.written_at
    )
    return None if row is None else _row(row)


async def parts(connection: Connection, versions: Collection[uuid.UUID]) -> dict[uuid.UUID, list[dict[str, str]]]:
    """Return the parts of the dataset that each version is of; versions that report none are absent."""
    found: dict[uuid.UUID, list[dict[str, str]]] = {}
    if versions:
        for id_, part in await sqlfile.load("history/versions")["parts"].many(connection, ids=list(versions)):
            found.setdefault(id_, []).append(msgspec.json.decode(part))
    return found


async def schemas(connection: Connection, dataset: uuid.UUID, limit: int) -> tuple[list[SchemaStretch], int]:
    """Return the dataset's schemas, the latest first, and how many there are."""
    rows = await sqlfile.load("history/versions")["schemas"].many(connection, dataset=dataset, limit=limit)
    return [SchemaStretch(*row[:7]) for row in rows], rows[0][7] if rows else 0


async def declarations(connection: Connection, job: uuid.UUID, limit: int) -> list[tuple[uuid.UUID, dt.datetime]]:
    """Return (report, time) of the latest JobEvents that declared what a job reads and writes, the oldest first."""
    rows = await sqlfile.load("history/versions")["declarations"].many(connection, job=job, limit=limit)
    return [(row[0], row[1]) for row in rows]


async def report_datasets(
    connection: Connection, job: uuid.UUID, runs: Collection[uuid.UUID]
) -> dict[tuple[uuid.UUID, str], set[uuid.UUID]]:
    """Return the datasets of each run, by (run, direction)."""
    found: dict[tuple[uuid.UUID, str], set[uuid.UUID]] = {}
    if runs:
        rows = await sqlfile.load("history/versions")["report_datasets"].many(connection, job=job, runs=list(runs))
        for run, direction, dataset in rows:
            found.setdefault((run, direction), set()).add(dataset)
    return found
