"""Edges between datasets by perspective."""

import datetime as dt
import uuid
from collections.abc import Collection, Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class ReportingJob(msgspec.Struct, frozen=True):
    """A job that reads and writes, and what decides its perspective. `counted`: from a query log. `facet`, `body`: its jobType, else any facet;
    `producer`: of its latest run's latest event, where there is no facet. `parent`: name of the job it belongs to."""

    id: uuid.UUID
    namespace: str
    parent: str | None
    counted: bool
    explicit: bool
    facet: str | None
    body: bytes | None
    producer: str | None


Pair = tuple[uuid.UUID, uuid.UUID]


class JobPerspectives(msgspec.Struct, frozen=True):
    """The jobs with their perspectives, all lists side by side; `owned`: it belongs to another job. `pairs`: (source, target, job) of jobs with
    explicit lineage. `covered`: namespaces that the perspective `log` sees all of."""

    jobs: Sequence[uuid.UUID]
    who: Sequence[str]
    explicit: Sequence[bool]
    owned: Sequence[bool]
    pairs: Sequence[tuple[uuid.UUID, uuid.UUID, uuid.UUID]]
    covered: Collection[str]
    log: str

    def parameters(self) -> dict[str, object]:
        return {
            "jobs": list(self.jobs),
            "who": list(self.who),
            "explicit": list(self.explicit),
            "owned": list(self.owned),
            "told_sources": [pair[0] for pair in self.pairs],
            "told_targets": [pair[1] for pair in self.pairs],
            "told_jobs": [pair[2] for pair in self.pairs],
            "covered": sorted(self.covered),
            "log": self.log,
        }


class EdgeRow(msgspec.Struct, frozen=True):
    """`who`: perspectives, sorted. `jobs`: those that report it, 20 at most. `disagreement`: in_no_dag, untold_by_its_job, never_seen or None."""

    source_namespace: str
    source_name: str
    namespace: str
    name: str
    who: list[str]
    jobs: list[uuid.UUID]
    at: dt.datetime
    disagreement: str | None


class EdgeCount(msgspec.Struct, frozen=True):
    """The number of edges that exactly these perspectives report, with this disagreement."""

    who: list[str]
    disagreement: str | None
    edges: int


async def reporting_jobs(connection: Connection) -> list[ReportingJob]:
    return [ReportingJob(*row) for row in await sqlfile.load("lineage/perspectives")["jobs"].many(connection)]


async def steps(connection: Connection, known: JobPerspectives) -> tuple[list[Pair], list[Pair]]:
    """Return the edges (source, target) that the log reports, and those between namespaces it covers that only other perspectives report."""
    rows = await sqlfile.load("lineage/perspectives")["steps"].many(connection, **known.parameters())
    return [(row[0], row[1]) for row in rows if row[2]], [(row[0], row[1]) for row in rows if not row[2]]


def _seen(seen: Collection[Pair]) -> dict[str, object]:
    return {"seen_sources": [pair[0] for pair in seen], "seen_targets": [pair[1] for pair in seen]}


async def page(
    connection: Connection,
    known: JobPerspectives,
    *,
    seen: Collection[Pair],
    namespace: str | None,
    perspective: str | None,
    kinds: Collection[str] | None,
    limit: int,
    offset: int,
) -> list[EdgeRow]:
    """A page of the edges, those with a disagreement first. `kinds`: only with one of these disagreements. `seen`: edges (source, target) that
    the log reports in some other way."""
    rows = await sqlfile.load("lineage/perspectives")["page"].many(
        connection, **known.parameters(), **_seen(seen), namespace=namespace, perspective=perspective,
        kinds=None if kinds is None else list(kinds), limit=limit, offset=offset,
    )  # fmt: skip
    return [EdgeRow(*row) for row in rows]


async def totals(
    connection: Connection,
    known: JobPerspectives,
    *,
    seen: Collection[Pair],
    namespace: str | None,
    perspective: str | None,
) -> list[EdgeCount]:
    """Count the edges of all kinds; `seen` as above."""
    rows = await sqlfile.load("lineage/perspectives")["totals"].many(
        connection, **known.parameters(), **_seen(seen), namespace=namespace, perspective=perspective
    )
    return [EdgeCount(*row) for row in rows]
