"""Earlier imports of a content: by which runs, and when. A step asks for them before it does its work again.

A content is imported if a run that ended well read it. A run with nothing to do (`skipped`), a failed run and a running
one import nothing. Runs under way are not considered: two callers at the same time may both find none.
"""

import datetime as dt

import msgspec

from headwater.answer.lineage import run_log
from headwater.answer.lineage.record_nodes import STEP, step_of
from headwater.errors import InvalidQuestion
from headwater.model import version
from headwater.model.names import bounded
from headwater.model.run import RunState
from headwater.store.database import Database
from headwater.store.lineage import correlation as store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.runs import RunKey

# The most readers that are looked at: the newest.
_MOST = 500


class ImportedDataset(msgspec.Struct):
    """The name under which the content lay; one of them, if there were several."""

    id: str
    namespace: str
    name: str


class Import(msgspec.Struct):
    """One run that read the content. `overrides`: the runs whose import a forced one did again."""

    run_id: str
    job: str
    state: str
    ended_at: dt.datetime | None
    forced: bool
    overrides: list[str]
    version: str | None
    dataset: ImportedDataset | None


class Imports(msgspec.Struct):
    """The newest first."""

    fingerprint: str
    imported: bool
    runs: list[Import]


async def imports(
    database: Database, fingerprint: str, namespace: str | None, job: str | None, limit: int = 100
) -> Imports:
    """Runs that read the content and ended well, of this job if one is named (else of any of the namespace, else of any).

    Raises InvalidQuestion for a text that is no fingerprint.
    """
    kept = version.fingerprint(fingerprint.strip())
    if kept is None:
        raise InvalidQuestion(
            f"{fingerprint[:80]!r} is no fingerprint; one is `xxh3-128:` and 32 hexadecimal digits, as "
            "`headwater fingerprint FILE` prints it",
            parameter="fingerprint",
        )
    async with database.snapshot() as connection:
        readers = await store.readers_of_content(
            connection,
            kept,
            namespace=bounded(namespace) if namespace else None,
            name=bounded(job) if job else None,
            limit=_MOST,
        )
        keys = {RunKey(row.run_id, row.job_id) for row in readers}
        told = await run_log.latest(connection, (await run_store.runs(connection, keys, "infinity")).values(), STEP)
        canonical = await name_store.canonical(connection, {row.dataset_id for row in readers})
        datasets = {canonical.get(row.dataset_id, row.dataset_id) for row in readers}
        named = await node_store.by_ids(connection, {row.job_id for row in readers} | datasets)
    found = []
    for row in readers:
        said = step_of(told.get((row.run_id, row.job_id)))
        # A run may have imported one file and let another be.
        if any(one.fingerprint == kept for one in said.skipped):
            continue
        dataset = named.get(canonical.get(row.dataset_id, row.dataset_id))
        found.append(
            Import(
                run_id=str(row.run_id),
                job=named[row.job_id].node_id,
                state=RunState(row.state).name,
                ended_at=row.ended_at,
                forced=said.forced,
                overrides=said.overrides,
                version=said.version,
                dataset=ImportedDataset(dataset.node_id, dataset.namespace, dataset.name) if dataset else None,
            )
        )
    return Imports(kept, bool(found), found[:limit])
