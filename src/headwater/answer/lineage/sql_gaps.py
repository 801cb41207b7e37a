"""The parts of a job's SQL that give no lineage: a text too long to read, tables under names that are no dataset of the job."""

import asyncio
import uuid
from collections.abc import Collection

from headwater.answer.lineage import inferred
from headwater.answer.lineage.inferred import JobText
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage.edges import Moment

_MOST_NAMED = 3


async def sql_gaps(connection: Connection, jobs: Collection[uuid.UUID], moment: Moment) -> dict[uuid.UUID, list[str]]:
    """Return, of jobs with SQL of their own or in statements below them, what of it gives no lineage, in words; an empty list if all of it does."""
    told = await facet_store.of_owners(connection, jobs, ("sql",), moment.as_of)
    texts = await inferred.job_texts(connection, jobs, moment)
    found: dict[uuid.UUID, list[str]] = {job: [] for job in (*told, *texts)}
    for job, facets in told.items():
        length = inferred.too_long(facets["sql"])
        if length is not None:
            found[job].append(f"its SQL has {length:,} characters, which are too many to read")
    unplaced = await asyncio.get_running_loop().run_in_executor(inferred.sql_thread(), _unplaced, texts)
    for job, names in unplaced.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        listed = ", ".join(names[:_MOST_NAMED]) + more
        found[job].append(f"its SQL reads {listed}, which is none of the datasets that it is known to read")
    return found


def _unplaced(texts: dict[uuid.UUID, JobText]) -> dict[uuid.UUID, list[str]]:
    from headwater.columns.tables import tables_of

    found = {}
    for job, text in texts.items():
        reads = tables_of(text.query, text.dialect).reads
        if names := [".".join(table) for table in reads if inferred.match_table(table, text.tables) is None]:
            found[job] = names
    return found
