"""Verdicts of wrong: a person, or a policy, said that data is wrong."""

import uuid

from headwater.answer.status.declared import declared
from headwater.answer.status.hit_objects import label_instances
from headwater.answer.status.incidents import incident
from headwater.answer.status.schedules import homes
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import detection as store
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.nodes import NodeRow


async def wrong(database: Database, window: Window) -> list[Trouble]:
    """Return the verdicts of the window that stand. Their subject is the first dataset or job that they are about."""
    async with database.snapshot() as connection:
        found = await store.verdicts(connection, window)
        about = {one.id: [*one.datasets, *one.jobs] for one in found}
        names = await node_store.by_ids(connection, {id_ for some in about.values() for id_ in some})
    troubles = []
    for one in found:
        nodes, label = [id_ for id_ in about[one.id] if id_ in names], ""
        if not nodes:
            label, nodes, names = await _of_instances(database, one.id, names)
        first = names[nodes[0]].node_id if nodes else f"incident:{one.id}"
        troubles.append(
            Trouble(
                "wrong", first, label or first.rpartition(":")[2], str(one.id), one.opened_at, one.reason,
                f"headwater incident show {one.id}", nodes[0] if nodes else None, one.closed_at, None, tuple(nodes),
            )
        )  # fmt: skip
    return troubles


async def _of_instances(
    database: Database, id_: uuid.UUID, names: dict[uuid.UUID, NodeRow]
) -> tuple[str, list[uuid.UUID], dict[uuid.UUID, NodeRow]]:
    """The instances that a verdict is about, in words, and the datasets that hold them."""
    roots = (await incident(database, id_)).roots
    async with database.snapshot() as connection:
        nodes = await _stored_in(connection, list(roots))
        names = names | await node_store.by_ids(connection, nodes)
    label = ", ".join(label_instances(entity, some) for entity, some in roots.items())
    return label, [each for each in nodes if each in names], names


async def _stored_in(connection: Connection, entities: list[str]) -> list[uuid.UUID]:
    held = await declared(connection)
    found = await homes(connection, held, {entity for entity in entities if entity in held.declared})
    return sorted({id_ for some in found.values() for id_ in some})
