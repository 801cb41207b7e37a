"""The runs, versions and contents that an incident condemned beside instances, and their readers one step away. Decides nothing."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey
from headwater.store.status.status import Window, packed

_QUERIES = "status/wrong_versions"
OriginKind = Literal["RUN", "VERSION", "CONTENT"]
NOW = 2**62
"""A report later than any."""


class Origin(NamedTuple):
    """A run's id, the id of a version of a dataset, or a content's fingerprint. `columns`: only these are wrong; empty: all."""

    kind: OriginKind
    ref: str
    columns: tuple[str, ...] = ()


class InstanceRange(NamedTuple):
    """Instances start_ ≤ ordinal < end_ of an entity."""

    entity_id: int
    start_: int
    end_: int


class MadeInstances(NamedTuple):
    """Instances that one version of an entity holds. `run`: as it was reported, or empty; `fingerprint`: of the content, or empty."""

    run: str
    some: InstanceRange
    fingerprint: str


class Earlier(NamedTuple):
    """The version before another one: its id, its name in its storage, and when it was written."""

    id: uuid.UUID
    external_version: str
    written_at: dt.datetime


async def condemn(connection: Connection, incident: uuid.UUID, origins: Sequence[Origin]) -> None:
    """Store what an incident is about."""
    await sqlfile.load(_QUERIES)["condemn"].exec(
        connection,
        incident=incident,
        kinds=[one.kind for one in origins],
        refs=[one.ref for one in origins],
        columns=[msgspec.json.encode(one.columns).decode() for one in origins],
    )


async def origins(connection: Connection, incidents: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Origin]]:
    """Return what these incidents are about beside instances; incidents that are only about instances are absent."""
    found: dict[uuid.UUID, list[Origin]] = {}
    for incident, kind, ref, columns in await sqlfile.load(_QUERIES)["origins"].many(
        connection, incidents=list(incidents)
    ):
        found.setdefault(incident, []).append(Origin(kind, ref, msgspec.json.decode(columns, type=tuple[str, ...])))
    return found


async def condemned(connection: Connection) -> list[Origin]:
    """Return the runs, versions and contents that incidents are about, unless they were retracted."""
    rows = await sqlfile.load(_QUERIES)["condemned"].many(connection)
    return [Origin(kind, ref, msgspec.json.decode(columns, type=tuple[str, ...])) for kind, ref, columns in rows]


async def current(connection: Connection, ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these versions that no later one has replaced, in all parts that they wrote."""
    listed = list(ids)
    # The ids that were given, not equal ones: a look-up by the same object is much quicker.
    return {listed[nr] for nr in await current_places(connection, listed)}


async def current_places(connection: Connection, ids: Sequence[uuid.UUID]) -> list[int]:
    """Return the places in the list of those of these versions that no later one has replaced."""
    if not ids:
        return []
    return [row[0] for row in await sqlfile.load(_QUERIES)["current"].packed(connection, ids=list(ids))]


async def held(connection: Connection, dataset: uuid.UUID, limit: int) -> list[uuid.UUID] | None:
    """Return the versions that a dataset holds: one, or those of its parts. None if more than `limit` may be."""
    rows = await sqlfile.load(_QUERIES)["since_replaced"].many(connection, dataset=dataset, limit=limit + 1)
    return None if len(rows) > limit else sorted(await current(connection, [row[0] for row in rows]))


async def made_again(
    connection: Connection, ids: Collection[uuid.UUID], since: dt.datetime, runs: Collection[uuid.UUID]
) -> set[uuid.UUID]:
    """Return those of these versions whose content a later run wrote again, of those that began then or later and are none of `runs`."""
    if not ids:
        return set()
    rows = await sqlfile.load(_QUERIES)["made_again"].many(connection, ids=list(ids), since=since, runs=list(runs))
    return {row[0] for row in rows}


async def unconfirmed(connection: Connection, ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these versions after which no event says that the dataset was replaced (`lifecycleStateChange`)."""
    if not ids:
        return set()
    return {row[0] for row in await sqlfile.load(_QUERIES)["unconfirmed"].many(connection, ids=list(ids))}


async def before(
    connection: Connection, ids: Collection[uuid.UUID], wrong: Collection[uuid.UUID]
) -> dict[uuid.UUID, Earlier]:
    """Return for each of these versions the last one before it of the same part that is not wrong and has a name in its storage."""
    if not ids:
        return {}
    rows = await sqlfile.load(_QUERIES)["before"].many(connection, ids=list(ids), wrong=list(wrong))
    return {row[0]: Earlier(*row[1:]) for row in rows}


async def item_readers(
    connection: Connection, places: Sequence[tuple[RunKey, uuid.UUID, str]]
) -> list[tuple[int, RunKey]]:
    """Return (index of the place, reader): runs that name an item or a content which this run wrote to this dataset; only that content where it names
    the version."""
    if not places:
        return []
    rows = await sqlfile.load(_QUERIES)["item_readers"].many(
        connection,
        runs=[key.run for key, _, _ in places],
        jobs=[key.job for key, _, _ in places],
        datasets=[dataset for _, dataset, _ in places],
        versions=[version for _, _, version in places],
    )
    return [(row[0], RunKey(row[1], row[2])) for row in rows]


async def content_readers(connection: Connection, nodes: Collection[uuid.UUID]) -> set[RunKey]:
    """Runs that read one of these contents or items."""
    rows = await sqlfile.load(_QUERIES)["content_readers"].many(connection, ids=list(nodes))
    return {RunKey(row[0], row[1]) for row in rows}


async def reads_by_item(connection: Connection, runs: Collection[RunKey]) -> set[tuple[RunKey, uuid.UUID]]:
    """Return (run, dataset) where the run says which items or contents of the dataset it read."""
    if not runs:
        return set()
    rows = await sqlfile.load(_QUERIES)["reads_by_item"].many(
        connection, runs=[key.run for key in runs], jobs=[key.job for key in runs]
    )
    return {(RunKey(row[0], row[1]), row[2]) for row in rows}


async def made_by_runs(connection: Connection, runs: Collection[str]) -> list[MadeInstances]:
    """Return the instances whose current versions these runs made."""
    return await _read_made(connection, "instances_of_runs", runs)


async def versions_of_runs(connection: Connection, runs: Collection[str]) -> list[MadeInstances]:
    """Return the versions of instances that these runs made, current or not."""
    return await _read_made(connection, "versions_of_runs", runs)


async def instances_of_content(connection: Connection, fingerprint: str) -> list[MadeInstances]:
    """Return the instances whose current versions have this content."""
    rows = await sqlfile.load(_QUERIES)["instances_of_content"].many(connection, fingerprint=fingerprint)
    return [MadeInstances(row[3], InstanceRange(*row[:3]), row[4]) for row in rows]


async def _read_made(connection: Connection, query: str, runs: Collection[str]) -> list[MadeInstances]:
    if not runs:
        return []
    rows = await sqlfile.load(_QUERIES)[query].many(connection, runs=sorted(runs))
    return [MadeInstances(row[3], InstanceRange(*row[:3]), row[4]) for row in rows]


async def makers_above(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return for each of these runs those that made instances: itself, and the runs above it. Only runs that have any."""
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    if runs:
        for run, maker in await sqlfile.load(_QUERIES)["makers_above"].many(connection, runs=list(runs)):
            found.setdefault(run, set()).add(maker)
    return found


async def versions_of_contents(connection: Connection, nodes: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """Return the versions of datasets that are one of these contents or items."""
    return [row[0] for row in await sqlfile.load(_QUERIES)["versions_of_contents"].many(connection, ids=list(nodes))]


async def reading_windows(connection: Connection, windows: Sequence[Window]) -> list[Window]:
    """Return the instances of versions that are recorded as readers of instances in these windows."""
    if not windows:
        return []
    rows = await sqlfile.load(_QUERIES)["reading_windows"].many(connection, **packed(windows))
    return [(row[0], row[1], row[2]) for row in rows]


async def runs_of_instances(
    connection: Connection, windows: Sequence[Window], seq: int = NOW
) -> list[tuple[str, InstanceRange]]:
    """The runs, as they were reported, that had made the current versions in these windows at a report, each with the instances that it made."""
    if not windows:
        return []
    rows = await sqlfile.load(_QUERIES)["runs_of_instances"].many(connection, seq=seq, **packed(windows))
    return [(row[0], InstanceRange(*row[1:])) for row in rows]


async def scheduled_upstream(
    connection: Connection, runs: Collection[uuid.UUID]
) -> list[tuple[uuid.UUID, InstanceRange, int | None]]:
    """Return (run, instances, upstream): what these runs, or runs above them, made, and an entity that it is recorded to have read."""
    if not runs:
        return []
    rows = await sqlfile.load(_QUERIES)["scheduled_upstream"].many(connection, runs=list(runs))
    return [(row[0], InstanceRange(*row[1:4]), row[4]) for row in rows]


async def has_versions(connection: Connection) -> bool:
    """Return whether any version of a dataset is known."""
    (found,) = await sqlfile.load(_QUERIES)["has_versions"].one(connection)
    return bool(found)


async def run_keys(connection: Connection, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[RunKey]]:
    """Return for each id its runs, in each job that has one, and the runs below them; unknown ids are absent."""
    found: dict[uuid.UUID, set[RunKey]] = {}
    if runs:
        for root, run, job in await sqlfile.load(_QUERIES)["run_keys"].many(connection, runs=list(runs)):
            found.setdefault(root, set()).add(RunKey(run, job))
    return found
