"""Events of datasets: a new schema, the first sight, a drop, a read after a long time without one."""

import itertools
import uuid
from collections.abc import Iterable, Mapping

from headwater.answer.history.schema_timeline import load_timeline
from headwater.answer.lineage import node
from headwater.model.names import short
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import detection as store
from headwater.store.database import Connection
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow

_NAMED = 8


async def schema_changed(connection: Connection, window: Window) -> list[Trouble]:
    """Return the schemas that differ from the one before, by columns and their types."""
    rows = await node_store.by_ids(connection, await store.new_schemas(connection, window))
    troubles = []
    for id_, row in rows.items():
        for old, new in itertools.pairwise(await load_timeline(connection, id_)):
            words = _differences(old.columns, new.columns)
            if words and window.has(new.at):
                key = f"{new.body_id} {new.at.isoformat()}"
                look = f"headwater log '{row.node_id}'"
                troubles.append(Trouble("schema_changed", row.node_id, short(row.name), key, new.at, words, look, id_))
    return troubles


def _differences(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> str:
    was, now = ({name: kind or "" for name, kind in columns.items()} for columns in (old, new))
    added = [f"{name} added" for name in now.keys() - was.keys()]
    dropped = [f"{name} dropped" for name in was.keys() - now.keys()]
    retyped = [
        f"{name}: {was[name]} → {now[name]}"
        for name in now.keys() & was.keys()
        if was[name].lower() != now[name].lower()
    ]
    words = [*sorted(dropped), *sorted(retyped), *sorted(added)]
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return "; ".join(words[:_NAMED]) + more


async def first_seen(connection: Connection, window: Window) -> list[Trouble]:
    """Return the datasets that no event had named before."""
    found = await store.first_seen(connection, window)
    rows = await node_store.by_ids(connection, [id_ for id_, _ in found])
    return [
        Trouble("first_seen", row.node_id, short(row.name), "", at, "an event names it for the first time",
                f"headwater lineage '{row.node_id}'", id_)
        for id_, at in found
        if (row := rows.get(id_)) is not None
    ]  # fmt: skip


async def gone(connection: Connection, window: Window) -> list[Trouble]:
    """Return the datasets that were dropped."""
    found = await store.dropped(connection, window)
    rows = await _rows(connection, ((id_, job) for id_, _, _, job in found))
    return [
        Trouble("gone", row.node_id, short(row.name), str(version), at, f"it was dropped{_by(rows, job)}",
                f"headwater log '{row.node_id}'", id_)
        for id_, at, version, job in found
        if (row := rows.get(id_)) is not None
    ]  # fmt: skip


async def used_again(connection: Connection, window: Window, unused: int) -> list[Trouble]:
    """Return the datasets that a run reads after at least `unused` seconds without a read."""
    found = await store.used_again(connection, window, unused)
    rows = await _rows(connection, ((id_, job) for id_, job, _ in found))
    days = f"{unused // 86_400:,} days"
    return [
        Trouble("used_again", row.node_id, short(row.name), f"{at.isoformat()} {unused}", at, f"read{_by(rows, job)} for the first time in {days}",
                f"headwater usage '{row.node_id}'", id_, unused=unused)
        for id_, job, at in found
        if (row := rows.get(id_)) is not None
    ]  # fmt: skip


async def _rows(
    connection: Connection, pairs: Iterable[tuple[uuid.UUID, uuid.UUID | None]]
) -> dict[uuid.UUID, NodeRow]:
    return await node_store.by_ids(connection, {id_ for pair in pairs for id_ in pair if id_ is not None})


def _by(rows: dict[uuid.UUID, NodeRow], job: uuid.UUID | None) -> str:
    return f" by {node.short_job(rows[job].name)}" if job is not None and job in rows else ""
