"""Record that versions which a check doubts are right as they are. That they are wrong is an incident (`incidents.py`)."""

import datetime as dt
import uuid
from collections.abc import Sequence

import msgspec

from headwater.errors import NotFound
from headwater.store.database import Connection, Database
from headwater.store.lineage import run_lineage
from headwater.store.status import checks as store
from headwater.store.status import wrong_versions
from headwater.store.status.wrong_versions import Origin


class FineVersions(msgspec.Struct, frozen=True):
    """The versions that the verdict is about, and when it was given: checks that fail later doubt them again."""

    versions: list[uuid.UUID]
    at: dt.datetime


async def call_fine(database: Database, subjects: Sequence[Origin], author: str, note: str) -> FineVersions:
    """Record that versions, or all that runs wrote, are right. NotFound for what is not known, and for a run that wrote no version."""
    async with database.transaction() as connection:
        found = [id_ for one in subjects for id_ in await _versions(connection, one)]
        at = dt.datetime.now(dt.UTC)
        await store.call_fine(connection, found, at, author, note)
    return FineVersions(found, at)


async def _versions(connection: Connection, one: Origin) -> list[uuid.UUID]:
    id_ = uuid.UUID(one.ref)
    if one.kind == "VERSION":
        found = list(await run_lineage.versions(connection, [id_]))
    else:
        runs = (await wrong_versions.run_keys(connection, [id_])).get(id_, ())
        found = [row.id for _, row in await run_lineage.versions_written(connection, sorted(runs), "infinity")]
    if not found:
        raise NotFound(
            f"no version is known of {one.kind.lower()} {one.ref}; `headwater lineage` shows them", ref=one.ref
        )
    return found
