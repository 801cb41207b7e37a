"""Facets that the readers of a dataset report about it: Marquez shows them with the version that they read."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

from headwater.answer.lineage import run_log
from headwater.store.database import Connection
from headwater.store.marquez import runs

# The jobs whose facets count: those that reported the dataset last.
MOST_JOBS = 10
BEGIN, END = dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
# A dataset, and from when on before when.
Span = tuple[uuid.UUID, dt.datetime, dt.datetime]


async def load(connection: Connection, spans: Sequence[Span]) -> list[run_log.DatasetFacets]:
    """Return the facets of each span's readers: of each job its last run, of a facet that several report the latest run's."""
    found = [run_log.DatasetFacets({}, {}) for _ in spans]
    readers = await runs.last_readers(connection, spans, MOST_JOBS)
    logged = await run_log.load(connection, {(row.run_id, row.job_id): row for _, row in readers}.values())
    for place, row in readers:
        reported = logged[row.run_id, row.job_id].inputs.get(spans[place][0])
        if reported is not None:
            found[place].facets |= reported.facets
            found[place].here |= reported.here
    return found


def with_readers(facets: Mapping[str, bytes], readers: run_log.DatasetFacets) -> dict[str, bytes]:
    """Return a version's facets with those of its readers. The schema stays as written: a reader may describe only the columns that it reads."""
    found = {**facets, **readers.facets, **readers.here}
    return found | {"schema": facets["schema"]} if "schema" in facets else found
