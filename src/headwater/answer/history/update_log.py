"""List who changed a dataset, write by write, as a commit log lists the changes of a source file.

| kind | the write |
|---|---|
| import | is the first with content that is known, or of a dataset whose versions have no names |
| correction | left another content than the one before |
| same | left the same content as the one before |
| forced | was made although the same content had been imported before, because a person forced it |
| failed | was of a run that failed or was stopped: what it left is not counted as content |
| dropped | removed it |
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.answer.lineage import run_log
from headwater.answer.lineage.find import node_row
from headwater.answer.lineage.node import user_of
from headwater.answer.lineage.record_nodes import STEP, Step, step_of
from headwater.model.run import RunState
from headwater.store.database import Database
from headwater.store.history import datasets as dataset_store
from headwater.store.history import facets as facet_store
from headwater.store.history.datasets import VersionRow
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.runs import RunKey

_MOST = 10_000
_DROPPED = frozenset({"DROP", "TRUNCATE"})


class Update(msgspec.Struct, frozen=True):
    """`content`: the version's name in its storage, or its fingerprint. `by`: the run's user, else the job's owner. `code`: the version of the
    program, as the step says. `overrides`: the runs whose import a forced one did again.
    """

    at: dt.datetime
    kind: str
    version: str
    content: str | None
    run: str | None
    job: str | None
    by: str | None
    code: str | None
    rows: int | None
    bytes: int | None
    overrides: list[str]


class UpdateLog(msgspec.Struct, frozen=True):
    """The updates of a dataset, the latest first. `total`: all of them; beyond 10,000 the oldest are left out (`cut`)."""

    dataset: str
    total: int
    updates: list[Update]
    cut: bool


async def update_log(
    database: Database, node: str, *, as_of: dt.datetime | None = None, limit: int = 100, offset: int = 0
) -> UpdateLog:
    """The writes of a dataset, by its node id. Raises NotFound."""
    async with database.snapshot() as connection:
        row = await node_row(connection, node)
        versions = await dataset_store.versions(connection, row.id, as_of or "infinity", _MOST + 1)
        cut, versions = len(versions) > _MOST, versions[:_MOST]
        keys = {(one.run_id, one.job_id) for one in versions if one.run_id and one.job_id}
        runs = await run_store.runs(connection, {RunKey(*key) for key in keys}, "infinity")
        facets = await run_log.latest(connection, runs.values(), STEP)
        jobs = await node_store.by_ids(connection, {job for _, job in keys})
        owners = await facet_store.of_owners(connection, {job for _, job in keys}, ["ownership"])
    steps = {key: step_of(facets.get(key)) for key in keys}
    kinds = _kinds(versions, steps)
    found = []
    for one in versions[offset : offset + limit]:
        key = (one.run_id, one.job_id) if one.run_id and one.job_id else None
        step = steps[key] if key else step_of(None)
        found.append(
            Update(
                one.written_at,
                kinds[one.id],
                str(one.id),
                one.external_version or None,
                str(one.run_id) if one.run_id else None,
                jobs[one.job_id].node_id if one.job_id in jobs else None,
                user_of(runs.get(RunKey(*key)), owners.get(key[1], {}).get("ownership")) if key else None,
                step.version,
                one.rows,
                one.bytes,
                step.overrides if step.forced else [],
            )
        )
    return UpdateLog(row.node_id, len(versions), found, cut)


def _kinds(versions: list[VersionRow], steps: Mapping[Any, Step]) -> dict[uuid.UUID, str]:
    """The kind of each, the oldest first; what failed changes nothing for those after it."""
    found = dict[uuid.UUID, str]()
    before: str | None = None
    for one in reversed(versions):
        step = steps.get((one.run_id, one.job_id))
        if one.state in {RunState.FAILED, RunState.ABORTED}:
            found[one.id] = "failed"
            continue
        if one.lifecycle in _DROPPED:
            found[one.id], before = "dropped", None
            continue
        content = one.external_version or None
        if step is not None and step.forced:
            found[one.id] = "forced"
        elif before is None or content is None:
            found[one.id] = "import"
        else:
            found[one.id] = "same" if content == before else "correction"
        before = content or before
    return found
