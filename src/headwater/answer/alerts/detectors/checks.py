"""Checks of data that begin to fail."""

from headwater.answer.lineage import node
from headwater.model.names import short
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import detection as store
from headwater.store.database import Connection
from headwater.store.lineage import nodes as node_store


async def failed_checks(connection: Connection, window: Window) -> list[Trouble]:
    """Return the checks that fail in the window and had passed, or were new. Those of a whole run are about what it read, or else wrote."""
    found = await store.failed_checks(connection, window)
    names = await node_store.by_ids(connection, {one.subject for one in found})
    troubles = []
    for one in found:
        if one.subject not in names:
            continue
        row = names[one.subject]
        name = f"{one.name} of {one.field}" if one.field else one.name
        text = f"check {name} failed" + (f": {one.detail}" if one.detail else "")
        key = f"{one.name}\n{one.field}\nafter {one.before.isoformat() if one.before else 'none'}"
        label = short(row.name) if row.type == "DATASET" else node.short_job(row.name)
        look = f"headwater status '{row.node_id}'" if row.type == "DATASET" else f"headwater run show {one.run}"
        troubles.append(
            Trouble("failed_check", row.node_id, label, key, one.at, text, look, one.subject, one.until, one.before)
        )
    return troubles
