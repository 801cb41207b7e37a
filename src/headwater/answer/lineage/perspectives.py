"""The same graph as seen by the query log, by dbt, by Airflow and by other producers, and where they disagree.

A job belongs to one perspective: query shapes to that of the query log, other jobs to that of the producer of their facets and events. An edge
between datasets belongs to the perspectives of all the jobs that make it. Manual edges belong to none.
"""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.answer.lineage.sorting import checked
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import perspectives as store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.perspectives import JobPerspectives, Pair, ReportingJob

LOG = "query-log"
OTHER = "other"
DISAGREEMENTS = ("in_no_dag", "untold_by_its_job", "never_seen")
# Words of a producer's address that name its tool; the first match counts.
_TOOLS = (
    "airflow",
    "dbt",
    "dagster",
    "prefect",
    "sqlmesh",
    "spark",
    "flink",
    "hive",
    "trino",
    "great-expectations",
    "debezium",
    "headwater",
)
_WORDS = re.compile(r"[a-z]+(?:-expectations)?")
_JOBS = 5
# The longest chain of the log's edges that stands for one edge of others, and the most datasets searched for chains: half a second's work.
_STEPS, _LOOKED = 5, 200_000


class Perspective(msgspec.Struct):
    """`alone`: edges of no other perspective."""

    name: str
    jobs: int
    edges: int
    alone: int


class PerspectiveEdge(msgspec.Struct, kw_only=True):
    """`jobs`: by perspective, at most five that report the edge. `reported_at`: its last report."""

    source: str
    target: str
    perspectives: list[str]
    disagreement: str | None
    jobs: dict[str, list[str]]
    reported_at: dt.datetime


class Perspectives(msgspec.Struct):
    """`covered`: namespaces that a query log was read of. `total`: edges of the kinds that were asked for, not of this page alone. `agreed` (told by
    more than one), `disagreements`, `perspectives`: of all kinds."""

    covered: list[str]
    perspectives: list[Perspective]
    total: int
    agreed: int
    disagreements: dict[str, int]
    edges: list[PerspectiveEdge]


async def perspectives(
    database: Database,
    *,
    namespace: str | None = None,
    perspective: str | None = None,
    kinds: Sequence[str] = (),
    limit: int = 100,
    offset: int = 0,
) -> Perspectives:
    """Edges with their perspectives, filtered by namespace, perspective or disagreement.

    in_no_dag: only the query log reports it. untold_by_its_job: the same, and the query names its task or model, which does not report the edge.
    never_seen: reported by other producers between namespaces whose query logs were read, but in no query log, nor as a chain of up to five
    steps there.
    Raises InvalidQuestion for a disagreement that is none.
    """
    for kind in kinds:
        checked(kind, DISAGREEMENTS, "disagreement")
    async with database.snapshot() as connection:
        reporting_jobs = await store.reporting_jobs(connection)
        who = {job.id: _perspective(job) for job in reporting_jobs}
        known = await _load_perspectives(connection, reporting_jobs, who)
        seen = _in_steps(*await store.steps(connection, known)) if known.covered else []
        rows = await store.page(
            connection,
            known,
            seen=seen,
            namespace=namespace,
            perspective=perspective,
            kinds=tuple(kinds) or None,
            limit=limit,
            offset=offset,
        )
        told = await store.totals(connection, known, seen=seen, namespace=namespace, perspective=perspective)
        names = await node_store.by_ids(connection, {job for row in rows for job in row.jobs})
    disagreements = dict.fromkeys(DISAGREEMENTS, 0)
    for one in told:
        if one.disagreement:
            disagreements[one.disagreement] += one.edges
    edges = []
    for row in rows:
        jobs: dict[str, list[str]] = {}
        for job in row.jobs:
            listed = jobs.setdefault(who[job], [])
            if len(listed) < _JOBS:
                listed.append(names[job].node_id)
        edges.append(
            PerspectiveEdge(
                source=f"dataset:{row.source_namespace}:{row.source_name}",
                target=f"dataset:{row.namespace}:{row.name}",
                perspectives=row.who,
                disagreement=row.disagreement,
                jobs=jobs,
                reported_at=row.at,
            )
        )
    everyone = sorted({*who.values()})
    return Perspectives(
        sorted(known.covered),
        [
            Perspective(
                one,
                sum(other == one for other in who.values()),
                sum(each.edges for each in told if one in each.who),
                sum(each.edges for each in told if each.who == [one]),
            )
            for one in everyone
        ],
        sum(one.edges for one in told if not kinds or one.disagreement in kinds),
        sum(one.edges for one in told if len(one.who) > 1),
        disagreements,
        edges,
    )


async def _load_perspectives(
    connection: Connection, reporting_jobs: Sequence[ReportingJob], who: dict[uuid.UUID, str]
) -> JobPerspectives:
    explicit = {job.id for job in reporting_jobs if job.explicit}
    pairs = await edge_store.explicit_pairs(connection, explicit, Moment())
    return JobPerspectives(
        [job.id for job in reporting_jobs],
        [who[job.id] for job in reporting_jobs],
        [job.explicit for job in reporting_jobs],
        [job.parent is not None for job in reporting_jobs],
        [
            (source, target, job)
            for job, targets in pairs.items()
            for target, sources in targets.items()
            for source in sources
        ],
        {job.namespace for job in reporting_jobs if who[job.id] == LOG},
        LOG,
    )


def _in_steps(log: Sequence[Pair], others: Sequence[Pair]) -> list[Pair]:
    """Return those of `others` that the log leads along in a few steps. The search ends after so many datasets in all:
    what is left then is not found."""
    after: dict[uuid.UUID, list[uuid.UUID]] = {}
    for source, target in log:
        after.setdefault(source, []).append(target)
    wanted: dict[uuid.UUID, set[uuid.UUID]] = {}
    for source, target in others:
        if source in after:
            wanted.setdefault(source, set()).add(target)
    found: list[Pair] = []
    looked = 0
    for source, targets in wanted.items():
        met, front = {source}, [source]
        for _ in range(_STEPS):
            front = list(dict.fromkeys(one for each in front for one in after.get(each, ()) if one not in met))
            met.update(front)
            looked += len(front)
            found += [(source, one) for one in front if one in targets]
            if targets <= met or looked > _LOOKED:
                break
        if looked > _LOOKED:
            break
    return found


def _perspective(job: ReportingJob) -> str:
    """Return the perspective that a job belongs to: the query log, a tool, an integration or a producer."""
    facet: dict[str, Any] = {} if job.body is None else msgspec.json.decode(job.body)
    producer = str(facet.get("_producer") or job.producer or "")
    words = set(_WORDS.findall(producer.lower()))
    tool = next((name for name in _TOOLS if name in words), None)
    query = job.facet == "jobType" and str(facet.get("jobType")).upper() == "QUERY"
    if job.counted or (tool == "headwater" and query):
        return LOG
    if tool is not None:
        return tool
    integration = facet.get("integration") if job.facet == "jobType" else None
    return str(integration).lower() if integration else producer or OTHER
