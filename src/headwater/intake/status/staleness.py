"""Find stale instances: those that read an instance of which a version with different content was made since. Staleness does not block readiness.

It goes one link only: a reader of a stale instance is not stale until that instance is made again.
"""

from collections.abc import Mapping

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Mark, Marks
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.loaded_marks import LoadedMarks, united, windows
from headwater.store.database import Connection
from headwater.store.status import status as store

STALE = Mark("stale")


async def stale(
    connection: Connection,
    held: StoredDeclarations,
    marks: LoadedMarks,
    name: str,
    again: Ordinals,
    found: Mapping[int, Marks],
) -> dict[int, Marks]:
    """The new marks, by id, of entities that used the instances in `again`: by the recorded reads of their versions, else by their declared needs.
    `found`: the marks that the same report has changed already.
    """
    mine = held.number(name)
    reach: dict[int, Ordinals] = {}
    for link in held.graph.downstream(name):
        number = held.number(link.downstream)
        if number == mine or link.instead:
            continue
        needs = link.edge.affected(again) if link.edge is not None else held.graph.every(link.downstream)
        reach[number] = reach.get(number, NONE) | needs
    reach = {number: some for number, some in reach.items() if some}
    if not reach:
        return {}
    await marks.more(connection, windows(reach))
    there = {number: some & marks.of(number).exist for number, some in reach.items()}
    looked = windows({number: some for number, some in there.items() if some})
    if not looked:
        return {}
    complete = united(
        (version.entity_id, Ordinals.between(version.start_, version.end_))
        for version in await store.versions(connection, looked, 2**62)
        if version.complete
    )
    read = united(
        (number, Ordinals.between(start, end))
        for number, start, end in await store.readers(connection, windows({mine: again}))
    )
    changed: dict[int, Marks] = {}
    for number, some in there.items():
        used = some - (complete.get(number, NONE) - read.get(number, NONE))
        had = found.get(number) or marks.of(number)
        now = had.with_({STALE: used})
        if now != had:
            changed[number] = now
    return changed
