"""The share of the lineage that is known: datasets with a known writer, with known columns, and jobs that ran and
reported what they read and wrote.

A dataset without a writer may be a source, which has none. So the counts say where to look, and are no grade.
"""

import msgspec

from headwater.store.database import Database
from headwater.store.usage import coverage as store


class Coverage(msgspec.Struct, frozen=True):
    """`written`: datasets that a job writes; `with_columns`: of those, with column lineage; `only_declared`: of those, that no run was seen to write.

    `reporting`: jobs that ran and have inputs or outputs.
    """

    namespace: str | None
    datasets: int
    written: int
    with_columns: int
    only_declared: int
    jobs: int
    reporting: int


async def coverage(database: Database, namespace: str | None = None) -> Coverage:
    """The counts of a namespace, or of everything."""
    async with database.snapshot() as connection:
        return Coverage(namespace, *await store.coverage(connection, namespace))
