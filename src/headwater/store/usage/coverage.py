"""The share of the lineage that is known: counts of datasets and jobs."""

from typing import NamedTuple

from headwater.model import statement_jobs
from headwater.store import sqlfile
from headwater.store.database import Connection


class CoverageCounts(NamedTuple):
    """`written`: datasets that a job writes; `columns`: of those, with column lineage; `declared`: of those, seen in no run.

    `ran`: jobs with a run and with inputs or outputs. A statement of a job counts as that job.
    """

    datasets: int
    written: int
    columns: int
    declared: int
    jobs: int
    ran: int


async def coverage(connection: Connection, namespace: str | None) -> CoverageCounts:
    """The counts, of a namespace or of all."""
    query = sqlfile.load("usage/coverage")["coverage"]
    return CoverageCounts(*await query.one(connection, namespace=namespace, statements=statement_jobs.PATTERN))
