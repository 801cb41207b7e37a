"""The versions that runs read and wrote: one statement a question, for any number of runs."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Sequence

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey, RunRow

AsOf = dt.datetime | str
_STATES = {int(state): state for state in RunState}


class Use(msgspec.Struct, frozen=True, gc=False):
    """The use of a dataset by a run that read or wrote it; with the parts, if it reported them."""

    run: RunKey
    dataset: uuid.UUID
    declared: bool
    parts: tuple[str, ...]


class VersionRow(msgspec.Struct, frozen=True, gc=False):
    """The version that one run wrote of a dataset, or that a DatasetEvent reported (then without a run)."""

    id: uuid.UUID
    dataset: uuid.UUID
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    external_version: str
    declared: bool
    first_at: dt.datetime
    written_at: dt.datetime
    lifecycle: str | None
    rows: int | None
    bytes: int | None
    files: int | None

    @property
    def writer(self) -> RunKey | None:
        return None if self.run_id is None or self.job_id is None else RunKey(self.run_id, self.job_id)


def _in_order(runs: Iterable[RunKey]) -> list[RunKey]:
    return sorted(runs, key=lambda key: key.run.int)


def _keys(ordered: Iterable[RunKey]) -> dict[str, list[uuid.UUID]]:
    return {"runs": [key.run for key in ordered], "jobs": [key.job for key in ordered]}


async def family(connection: Connection, run: uuid.UUID, as_of: AsOf, limit: int) -> list[RunKey]:
    """The run, in each job that has it, and the runs below it, the nearest first."""
    rows = await sqlfile.load("lineage/run_lineage")["family"].many(connection, run_id=run, as_of=as_of, limit=limit)
    return [RunKey(row[0], row[1]) for row in rows]


async def runs(connection: Connection, keys: Collection[RunKey], as_of: AsOf) -> dict[RunKey, RunRow]:
    """Return the rows of these runs, by the keys that were given: a look-up by the same object is much quicker than by an equal one."""
    if not keys:
        return {}
    listed = _in_order(keys)
    rows = await sqlfile.load("lineage/run_lineage")["runs"].packed(connection, **_keys(listed), as_of=as_of)
    return {
        (key := listed[nr]): RunRow(key.run, key.job, external, _STATES[state], *rest)
        for nr, external, state, *rest in rows
    }


async def datasets(
    connection: Connection, keys: Collection[RunKey], direction: str, as_of: AsOf, *, beside_versions: bool = False
) -> list[Use]:
    """Return the datasets that these runs read (`in`) or wrote (`out`).

    `beside_versions`: without those of which a version says as much: seen, not declared, no parts.
    """
    if not keys:
        return []
    rows = await sqlfile.load("lineage/run_lineage")["datasets"].many(
        connection, **_keys(_in_order(keys)), direction=direction, as_of=as_of, all=not beside_versions
    )
    return [Use(RunKey(row[0], row[1]), row[2], row[3], tuple(row[4] or ())) for row in rows]


async def versions_at_start(
    connection: Connection, asked: Collection[tuple[RunKey, uuid.UUID, dt.datetime]]
) -> dict[tuple[RunKey, uuid.UUID], dict[uuid.UUID, list[str]]]:
    """Return the version that was current when a reader began, by (reader, dataset), for readers with the time they
    began.

    A reader of several parts may have met several versions: each with the parts it was met for (none for a reader that named none).
    """
    found: dict[tuple[RunKey, uuid.UUID], dict[uuid.UUID, list[str]]] = {}
    if asked:
        rows = await sqlfile.load("lineage/run_lineage")["versions_at_start"].many(
            connection,
            runs=[key.run for key, _, _ in asked],
            jobs=[key.job for key, _, _ in asked],
            nodes=[dataset for _, dataset, _ in asked],
            ats=[at for _, _, at in asked],
        )
        for run, job, dataset, part, version in rows:
            parts = found.setdefault((RunKey(run, job), dataset), {}).setdefault(version, [])
            if part is not None:
                parts.append(part)
    return found


async def versions_named(
    connection: Connection, asked: Collection[tuple[uuid.UUID, str, dt.datetime]], as_of: AsOf
) -> dict[tuple[uuid.UUID, str, dt.datetime], uuid.UUID]:
    """Return the version that goes by a name, by (dataset, external version, time of reading)."""
    if not asked:
        return {}
    rows = await sqlfile.load("lineage/run_lineage")["versions_named"].many(
        connection,
        nodes=[dataset for dataset, _, _ in asked],
        names=[name for _, name, _ in asked],
        ats=[at for _, _, at in asked],
        as_of=as_of,
    )
    return {(row[0], row[1], row[2]): row[3] for row in rows}


async def versions(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, VersionRow]:
    if not ids:
        return {}
    rows = await sqlfile.load("lineage/run_lineage")["versions"].many(connection, ids=list(ids))
    return {row[0]: VersionRow(*row) for row in rows}


async def with_special_versions(connection: Connection, datasets: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return those of these datasets that have a version with a name in its storage, or one that a stream wrote."""
    if not datasets:
        return set()
    rows = await sqlfile.load("lineage/run_lineage")["with_special_versions"].many(connection, ids=list(datasets))
    return {row[0] for row in rows}


async def versions_by_name(connection: Connection, datasets: Collection[uuid.UUID], name: str) -> list[VersionRow]:
    """Return the latest version of each of these datasets that goes by this name in its storage, or by this id."""
    if not datasets:
        return []
    rows = await sqlfile.load("lineage/run_lineage")["versions_by_name"].many(connection, ids=list(datasets), name=name)
    return [VersionRow(*row) for row in rows]


async def versions_written(
    connection: Connection, keys: Collection[RunKey], as_of: AsOf
) -> list[tuple[RunKey, VersionRow]]:
    """Return the versions that these runs wrote, each with the key of its run that was given."""
    if not keys:
        return []
    listed = _in_order(keys)
    rows = await sqlfile.load("lineage/run_lineage")["versions_written"].packed(
        connection, **_keys(listed), as_of=as_of
    )
    return [
        ((key := listed[nr]), VersionRow(id_, dataset, key.run, key.job, *rest)) for nr, id_, dataset, *rest in rows
    ]


async def readers(
    connection: Connection, ids: Sequence[uuid.UUID], as_of: AsOf, *, most: int, later: int
) -> list[tuple[int, RunKey, bool]]:
    """Return (place of the version in `ids`, run that may have read it, whether it did if the dataset has no special version).

    `most + 1` runs of one job for one version mean that there are more.
    """
    if not ids:
        return []
    rows = await sqlfile.load("lineage/run_lineage")["readers"].packed(
        connection, ids=list(ids), as_of=as_of, most=most, later=later
    )
    return [(nr, RunKey(run, job), sure) for nr, run, job, sure in rows]
