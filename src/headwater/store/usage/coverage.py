"""The share of the lineage that is known: counts of datasets and jobs."""

from typing import NamedTuple

from headwater.store import sqlfile
from headwater.store.database import Connection


class CoverageCounts(NamedTuple):
    """`written`: datasets that a job writes; `columns`: of those, with column lineage; `declared`: of those, seen in no run.

    `ran`: jobs with a run and with inputs or outputs.
    """

    datasets: int
    written: int
    columns: int
    declared: int
    jobs: int
    ran: int


async def coverage(connection: Connection, namespace: str | None) -> CoverageCounts:
    """The counts, of a namespace or of all."""
    return CoverageCounts(*await sqlfile.load("usage/coverage")["coverage"].one(connection, namespace=namespace))
