"""Jobs that begin to fail: the first run that failed since a good one."""

import datetime as dt
import uuid
from collections.abc import Iterable

from headwater.answer.lineage import node
from headwater.answer.lineage.runs import errors_of
from headwater.model.run import RunState
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import detection as store
from headwater.store.database import Connection
from headwater.store.lineage import nodes as node_store


async def failed(connection: Connection, window: Window) -> list[Trouble]:
    """Return the jobs that begin to fail in the window."""
    found = await store.failures(connection, window)
    errors = await errors_of(connection, [one.run for one in found])
    return await _troubles(connection, found, errors)


async def still_failing(connection: Connection, since: dt.datetime) -> list[Trouble]:
    """Return the jobs that had begun to fail before a time and had not recovered by then: they may be the cause of later troubles."""
    return await _troubles(connection, await store.lasting_failures(connection, since), {})


async def _troubles(
    connection: Connection, found: Iterable[store.Failure], errors: dict[uuid.UUID, str]
) -> list[Trouble]:
    names = await node_store.by_ids(connection, {one.job for one in found})
    troubles = []
    for one in found:
        if one.job not in names:
            continue
        row = names[one.job]
        state = RunState(one.state).name.lower()
        text = f"a run {state}" if one.run not in errors else f"a run {state}: {errors[one.run]}"
        troubles.append(
            Trouble(
                "failed", row.node_id, node.short_job(row.name), f"after {one.before or 'none'}", one.at, text,
                f"headwater run show {one.run}", one.job, one.until, one.before_at,
            )
        )  # fmt: skip
    return troubles
