"""Rows that Marquez's API is answered from: datasets, jobs, namespaces, sources, tags, each with how many there are."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.model.run import RunState
from headwater.store import sqlfile
from headwater.store.database import Connection


class DatasetRow(msgspec.Struct, frozen=True, gc=False):
    """A dataset under the name that stands for it."""

    id: uuid.UUID
    namespace: str
    name: str
    first_seen: dt.datetime
    last_seen: dt.datetime
    hidden: bool


class JobRow(msgspec.Struct, frozen=True, gc=False):
    """A job, and the name of the job above it."""

    id: uuid.UUID
    namespace: str
    name: str
    first_seen: dt.datetime
    last_seen: dt.datetime
    parent_id: uuid.UUID | None
    parent_name: str | None
    hidden: bool

    @property
    def simple_name(self) -> str:
        """The job's name without its parent's."""
        return self.name[len(self.parent_name) + 1 :] if self._prefixed() else self.name  # type: ignore[arg-type]

    @property
    def full_name(self) -> str:
        """The name `parent.child`; a name that was reported so stays as it is."""
        return self.name if self.parent_name is None or self._prefixed() else f"{self.parent_name}.{self.name}"

    def _prefixed(self) -> bool:
        return self.parent_name is not None and self.name.startswith(f"{self.parent_name}.")


class CurrentVersion(msgspec.Struct, frozen=True, gc=False):
    """The latest version of a dataset; `written`: by a run."""

    dataset: uuid.UUID
    id: uuid.UUID
    written_at: dt.datetime
    lifecycle: str | None
    written: bool


class PastFacet(msgspec.Struct, frozen=True, gc=False):
    """A body that a facet had, reported first and last at these times."""

    owner: uuid.UUID
    name: str
    first_at: dt.datetime
    last_at: dt.datetime
    deleted: bool
    body: bytes


class JobVersionRow(msgspec.Struct, frozen=True):
    """One combination of inputs, outputs and location (a facet's body) of a job."""

    inputs: tuple[uuid.UUID, ...]
    outputs: tuple[uuid.UUID, ...]
    location: bytes | None
    first_at: dt.datetime
    last_at: dt.datetime
    run_id: uuid.UUID | None


class SearchRow(msgspec.Struct, frozen=True, gc=False):
    """A dataset or job that has the words; a job under its full name."""

    type: str
    id: uuid.UUID
    namespace: str
    name: str
    last_seen: dt.datetime


async def datasets_resolved(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, DatasetRow]:
    """Return the dataset that each id stands for; ids of no dataset are absent."""
    if not ids:
        return {}
    rows = await sqlfile.load("marquez/marquez")["datasets_resolved"].many(connection, ids=list(ids))
    return {row[0]: DatasetRow(*row[1:]) for row in rows}


async def datasets_page(
    connection: Connection, namespace: str, limit: int, offset: int
) -> tuple[list[DatasetRow], int]:
    """Datasets of a namespace by name, and how many it has."""
    queries = sqlfile.load("marquez/marquez")
    rows = await queries["datasets_page"].many(connection, namespace=namespace, limit=limit, offset=offset)
    (total,) = await queries["datasets_count"].one(connection, namespace=namespace)
    return [DatasetRow(*row) for row in rows], total


async def current_versions(
    connection: Connection, datasets: Collection[uuid.UUID], as_of: dt.datetime | str = "infinity"
) -> dict[uuid.UUID, CurrentVersion]:
    """Return the current version of each dataset. Datasets without a recorded write are absent."""
    if not datasets:
        return {}
    rows = await sqlfile.load("marquez/marquez")["current_versions"].many(connection, ids=list(datasets), as_of=as_of)
    return {row[0]: CurrentVersion(*row) for row in rows}


async def version_count(connection: Connection, dataset: uuid.UUID) -> int:
    (count,) = await sqlfile.load("marquez/marquez")["version_count"].one(connection, dataset_id=dataset)
    return int(count)


async def facet_history(
    connection: Connection, owners: Collection[uuid.UUID], names: Collection[str] | None = None
) -> list[PastFacet]:
    """Return every body, of all facets or of those with these names."""
    if not owners:
        return []
    rows = await sqlfile.load("marquez/marquez")["facet_history"].many(
        connection, owners=list(owners), names=None if names is None else list(names)
    )
    return [PastFacet(*row) for row in rows]


async def jobs_by_ids(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, JobRow]:
    if not ids:
        return {}
    rows = await sqlfile.load("marquez/marquez")["jobs_by_ids"].many(connection, ids=list(ids))
    return {row[0]: JobRow(*row) for row in rows}


async def jobs_named(connection: Connection, names: Collection[tuple[str, str]]) -> list[JobRow]:
    """Jobs with one of these (namespace, name)."""
    if not names:
        return []
    rows = await sqlfile.load("marquez/marquez")["jobs_named"].many(
        connection, namespaces=[one[0] for one in names], names=[one[1] for one in names]
    )
    return [JobRow(*row) for row in rows]


async def jobs_page(
    connection: Connection, namespace: str | None, states: Collection[RunState] | None, limit: int, offset: int
) -> tuple[list[JobRow], int]:
    """Return jobs, the one with the latest event first, and how many there are."""
    queries = sqlfile.load("marquez/marquez")
    given = {"namespace": namespace, "states": None if states is None else [int(state) for state in states]}
    rows = await queries["jobs_page"].many(connection, **given, limit=limit, offset=offset)
    (total,) = await queries["jobs_count"].one(connection, **given)
    return [JobRow(*row) for row in rows], total


async def families(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """Return the topmost job of each job of the families of these jobs."""
    if not jobs:
        return {}
    return dict(await sqlfile.load("marquez/marquez")["families"].many(connection, ids=list(jobs)))


async def edges_of_jobs(connection: Connection, jobs: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, uuid.UUID, str]]:
    """Return (dataset, job, direction) of everything these jobs read and write now."""
    if not jobs:
        return []
    rows = await sqlfile.load("marquez/marquez")["edges_of_jobs"].many(connection, ids=list(jobs))
    return [(row[0], row[1], row[2]) for row in rows]


async def jobs_at_datasets(connection: Connection, datasets: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Return every job that reads or writes one of these datasets now."""
    if not datasets:
        return set()
    rows = await sqlfile.load("marquez/marquez")["jobs_at_datasets"].many(connection, ids=list(datasets))
    return {row[0] for row in rows}


async def last_reports(
    connection: Connection, jobs: Collection[uuid.UUID]
) -> dict[uuid.UUID, tuple[dt.datetime, set[uuid.UUID], set[uuid.UUID]]]:
    """Return for each job when its latest report ended, with the inputs and outputs in it. Jobs that never reported any are absent."""
    found: dict[uuid.UUID, tuple[dt.datetime, set[uuid.UUID], set[uuid.UUID]]] = {}
    if jobs:
        for job, at, dataset, direction in await sqlfile.load("marquez/marquez")["last_reports"].many(
            connection, ids=list(jobs)
        ):
            _, inputs, outputs = found.setdefault(job, (at, set(), set()))
            if dataset is not None:
                (inputs if direction == "in" else outputs).add(dataset)
    return found


async def job_versions(connection: Connection, job: uuid.UUID) -> list[JobVersionRow]:
    """Return the versions of a job, the latest begun first."""
    rows = await sqlfile.load("marquez/marquez")["job_versions"].many(connection, job_id=job)
    return [JobVersionRow(tuple(row[0] or ()), tuple(row[1] or ()), *row[2:]) for row in rows]


async def namespaces(
    connection: Connection, said: Sequence[str], names: Sequence[str] | None, limit: int | None, offset: int
) -> list[tuple[str, dt.datetime | None, bool]]:
    """Return (name, first seen, hidden) by name. `said`: namespaces that people made; one that no event mentioned has no time here."""
    rows = await sqlfile.load("marquez/marquez")["namespaces"].many(
        connection,
        said=list(said),
        names=None if names is None else list(names),
        limit=limit,
        offset=offset,
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def sources(
    connection: Connection, said: Sequence[str], names: Sequence[str] | None, limit: int | None, offset: int
) -> list[tuple[str, dt.datetime | None, str]]:
    """Return (name, first seen, address) by name; `said` as for namespaces."""
    rows = await sqlfile.load("marquez/marquez")["sources"].many(
        connection,
        said=list(said),
        names=None if names is None else list(names),
        limit=limit,
        offset=offset,
    )
    return [(row[0], row[1], row[2]) for row in rows]


async def tag_facets(connection: Connection) -> list[bytes]:
    return [row[0] for row in await sqlfile.load("marquez/marquez")["tag_facets"].many(connection)]


async def search(
    connection: Connection,
    pattern: str,
    *,
    type_: str | None,
    namespace: str | None,
    before: dt.datetime | None,
    after: dt.datetime | None,
    by_time: bool,
    limit: int,
) -> tuple[list[SearchRow], int]:
    """Return the matches of a LIKE pattern, and how many there are."""
    rows = await sqlfile.load("marquez/marquez")["search"].many(
        connection,
        pattern=pattern,
        type=type_,
        namespace=namespace,
        before=before,
        after=after,
        by_time=by_time,
        limit=limit,
    )
    return [SearchRow(*row[:5]) for row in rows], rows[0][5] if rows else 0
