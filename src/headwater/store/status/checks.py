"""Results of checks of data, and people's verdicts on versions that checks doubt. Judges nothing."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import NamedTuple

from headwater.model.checks import DOUBT
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey

_QUERIES = "status/checks"


class StoredResult(NamedTuple):
    """`subject`: the dataset as it was named, or the job of a check of a whole run. `direction`: whether the run read (`in`) or wrote (`out`) the
    `dataset`; `event`: no run checked it. `result`: a `model.checks.Result`. `version`, `part`: what an event without a run names; empty if nothing.
    """

    run: RunKey
    subject: uuid.UUID
    direction: str
    dataset: uuid.UUID
    name: str
    field: str
    at: dt.datetime
    digest: bytes
    result: int
    detail: str
    version: str
    part: str


async def failed(connection: Connection, limit: int) -> list[StoredResult]:
    """The checks that failed last."""
    return [_result(row) for row in await sqlfile.load(_QUERIES)["failed"].many(connection, limit=limit)]


async def passed_since(connection: Connection, failures: Collection[StoredResult]) -> list[StoredResult]:
    """Results of the same checks of the same datasets since, that are no failures."""
    if not failures:
        return []
    earliest: dict[tuple[uuid.UUID, str, str], dt.datetime] = {}
    for one in failures:
        key = one.subject, one.name, one.field
        earliest[key] = min(earliest.get(key, one.at), one.at)
    asked = sorted(earliest)
    rows = await sqlfile.load(_QUERIES)["passed_since"].many(
        connection,
        subjects=[key[0] for key in asked],
        names=[key[1] for key in asked],
        fields=[key[2] for key in asked],
        ats=[earliest[key] for key in asked],
    )
    return [_result(row) for row in rows]


async def checked_versions(connection: Connection, results: Sequence[StoredResult]) -> list[list[uuid.UUID]]:
    """Return for each result that came without a run the versions that it is about: those of that name; else the current one of the part, and if
    no run wrote that, the last one that a run wrote.
    """
    found: list[list[uuid.UUID]] = [[] for _ in results]
    if results:
        rows = await sqlfile.load(_QUERIES)["checked_versions"].many(
            connection,
            datasets=[one.dataset for one in results],
            versions=[one.version for one in results],
            parts=[one.part for one in results],
            ats=[one.at for one in results],
        )
        for number, id_ in rows:
            found[number].append(id_)
    return found


async def unwritten(connection: Connection, datasets: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these datasets that have no version: no run wrote them."""
    rows = await sqlfile.load(_QUERIES)["unwritten"].many(connection, datasets=sorted(datasets)) if datasets else []
    return {row[0] for row in rows}


def _result(row: sqlfile.Row) -> StoredResult:
    return StoredResult(RunKey(row[0], row[1]), *row[2:])


async def call_fine(
    connection: Connection, versions: Collection[uuid.UUID], at: dt.datetime, author: str, note: str
) -> None:
    """Store that these versions are right as they are."""
    await sqlfile.load(_QUERIES)["call_fine"].exec(connection, versions=list(versions), at=at, author=author, note=note)


async def trusted(connection: Connection, since: dt.datetime) -> list[tuple[int, int, int, dt.datetime]]:
    """Return (entity id, start, end, when) of instances that people trusted from a time on against the doubts about what they were made from."""
    rows = await sqlfile.load(_QUERIES)["trusted"].many(connection, ref=DOUBT, since=since)
    return [(row[0], row[1], row[2], row[3]) for row in rows]


async def fine(connection: Connection) -> dict[uuid.UUID, dt.datetime]:
    """Return when a person called each version right."""
    return dict(await sqlfile.load(_QUERIES)["fine"].many(connection))
