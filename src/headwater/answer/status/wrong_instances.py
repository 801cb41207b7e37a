"""The instances of an incident, in the versions that it is about, each with the run that made it."""

from collections.abc import Sequence

from headwater.answer.status.wrong_versions import WrongInstances
from headwater.entities.needs.columns import named
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.store.database import Connection
from headwater.store.status import incidents as store
from headwater.store.status import status as status_store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.wrong_versions import InstanceRange


async def load_wrong_instances(
    connection: Connection, one: store.Incident, rows: Sequence[status_store.Run]
) -> WrongInstances:
    """Return them; `rows`: the marks of the incident, of any kind that one can set."""

    async def makers(kind: str) -> list[tuple[str, InstanceRange]]:
        windows = [(row.entity_id, row.start_, row.end_) for row in rows if row.kind == kind]
        return await origin_store.runs_of_instances(connection, windows)

    within: dict[int, Ordinals] = {}
    for row in rows:
        if row.kind != "wont_fix":
            within[row.entity_id] = within.get(row.entity_id, NONE) | Ordinals.between(row.start_, row.end_)
    # What a person has confirmed as right has no mark any more, and is no root.
    roots = [
        (root.entity_id, start, end)
        for root in await store.roots(connection, [one.id])
        for start, end in Ordinals.between(root.start_, root.end_) & within.get(root.entity_id, NONE)
    ]
    return WrongInstances(
        await origin_store.runs_of_instances(connection, roots, one.opened_seq),
        await makers("tainted"),
        await makers("inherited"),
        within,
        {
            each.entity_id: named(each.columns)
            for each in await store.columns(connection, one.id)
            if each.columns is not None
        },
        any(row.kind == "repaired" for row in rows),
    )
