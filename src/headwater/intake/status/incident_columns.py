"""Of an incident that is about some columns only: what of other entities may be wrong, as the lineage of columns tells, and what is not affected.

Lineage is that of every run since the first of what is wrong was made, not what holds now: what was made by a statement that has changed since was
made by the one before. Where nobody told of columns, all of them may be wrong.
"""

import datetime as dt
import difflib
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwater.entities.declaration.held import Held
from headwater.entities.needs.columns import ALL, Carried, Columns, Dataset, Made, Way, named, unknown
from headwater.errors import InvalidStatus
from headwater.model.identity import Identity
from headwater.model.names import DatasetName
from headwater.store.database import Connection
from headwater.store.events import server_state
from headwater.store.lineage import column_flow
from headwater.store.status import incidents as store
from headwater.store.status import stored_in

_MOST = 20_000
"""Datasets that columns are followed through."""
_APART = dt.timedelta(days=1)
"""By how much the clock of who reports an instance may be ahead of the clock of who reports the run that read it."""


class Restricted(NamedTuple):
    """`columns`: by entity those that may be wrong, `ALL` where nobody knows better. `unaffected`: (upstream, downstream) between which no wrong
    column is carried. `since`: when the first of what is wrong was made; None where nobody knows.
    """

    columns: Mapping[str, Columns]
    unaffected: frozenset[tuple[str, str]]
    since: dt.datetime | None


async def restricted(
    connection: Connection, held: Held, wrong: Mapping[str, Columns], since: dt.datetime | None
) -> Restricted:
    """Where these columns of entities are wrong. InvalidStatus where an entity has no such column, as far as its columns are known; where lineage
    from when the instances were made is not kept any more; and where there is too much of it.
    """
    state = await server_state.read(connection)
    if state.log_dropped_before and (since is None or since - _APART < state.log_dropped_before):
        raise InvalidStatus(
            f"what used only some columns is not known: lineage from before {state.log_dropped_before:%Y-%m-%d %H:%M} is not kept, and some of these "
            "instances are older; leave out the columns to mark everything that used these instances",
            kept_from=state.log_dropped_before.isoformat(),
        )
    stored = await _stored(connection, held, Identity(state.rules))
    await _checked(connection, held, stored, wrong)
    carried = Carried(held.graph, stored, wrong)
    await _followed(connection, carried, since)
    return Restricted(carried.columns, frozenset(carried.unaffected()), since)


async def written(connection: Connection, held: Held, id_: uuid.UUID, found: Restricted) -> None:
    """Keep it with the incident."""
    columns = [
        store.OfColumns(id_, held.number(name), None if some == ALL else sorted(some), found.since)
        for name, some in found.columns.items()
    ]
    await store.restrict(connection, columns)
    pairs = [(id_, held.number(up), held.number(down)) for up, down in sorted(found.unaffected)]
    await store.spare(connection, pairs)


async def spared(connection: Connection, held: Held, ids: Sequence[uuid.UUID]) -> dict[str, frozenset[tuple[str, str]]]:
    """By incident, of these, the (upstream, downstream) between which no wrong column is carried; nothing of incidents about whole instances."""
    found: dict[str, set[tuple[str, str]]] = {}
    for incident, upstream, downstream in await store.spared(connection, ids):
        if upstream in held.names and downstream in held.names:
            found.setdefault(str(incident), set()).add((held.names[upstream], held.names[downstream]))
    return {incident: frozenset(pairs) for incident, pairs in found.items()}


async def affected_now(
    connection: Connection, held: Held, incident: uuid.UUID, pairs: Sequence[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Those of these unaffected pairs over which, as runs have told since, wrong columns are carried after all. They are no longer unaffected, nor
    is who uses their downstream, of which all columns may be wrong from now on.
    """
    columns = await store.columns(connection, incident)
    of = {one.entity_id: one for one in columns}
    wrong = {
        name: ALL if of[held.ids[name]].columns is None else frozenset(of[held.ids[name]].columns or ())
        for name in {upstream for upstream, _ in pairs}
        if held.ids[name] in of
    }
    state = await server_state.read(connection)
    carried = Carried(held.graph, await _stored(connection, held, Identity(state.rules)), wrong, onward=False)
    since = min((one.since for one in columns if one.since is not None), default=None)
    await _followed(connection, carried, None if any(one.since is None for one in columns) else since)
    found = set(pairs) - carried.unaffected()
    for upstream, downstream in sorted(found):
        await store.spare_no_more(connection, incident, held.ids[upstream], held.ids[downstream])
    return found


async def _stored(connection: Connection, held: Held, identity: Identity) -> dict[str, list[Dataset]]:
    places = ((one.name, DatasetName(*place)) for one in held.declared.values() for place in one.stored_in)
    found: dict[str, list[Dataset]] = {}
    for dataset, entities in (await stored_in.homes(connection, identity, places)).items():
        for entity in entities:
            found.setdefault(entity, []).append(dataset)
    return found


async def _checked(
    connection: Connection, held: Held, stored: Mapping[str, Sequence[Dataset]], wrong: Mapping[str, Columns]
) -> None:
    told = await column_flow.columns(connection, [dataset for name in wrong for dataset in stored.get(name, ())])
    for name, some in wrong.items():
        names = {column for dataset in stored.get(name, ()) for column in told.get(dataset, ())}
        if some == ALL or not names:
            continue
        names |= {
            column
            for link in held.graph.downstream(name)
            if link.dependency is not None and not link.instead
            for column in link.dependency.columns
        }
        if column := next(unknown(some, named(names)), None):
            near = difflib.get_close_matches(column, sorted(names), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(names)[:20])}"
            raise InvalidStatus(f"entity {name!r} has no column {column[:200]!r}; {hint}", entity=name, column=column)


async def _followed(connection: Connection, carried: Carried, since: dt.datetime | None) -> None:
    while some := carried.unknown():
        if carried.seen + len(some) > _MOST:
            raise InvalidStatus(
                f"these columns lead to more than {_MOST:,} datasets; leave out the columns to mark everything that used these instances"
            )
        found = await column_flow.written_from(connection, some, None if since is None else since - _APART)
        carried.learn({id_: [Made(one.dataset, _ways(one)) for one in every] for id_, every in found.items()})


def _ways(written: column_flow.Written) -> list[Way]:
    found = []
    for taken in written.ways:
        fed: dict[Dataset, dict[str, set[str]]] = {}
        for edge in taken.edges:
            made = fed.setdefault(edge.source, {}).setdefault(edge.source_field.casefold(), set())
            made.add(edge.target_field.casefold())
        found.append(
            Way(
                {source: {field: frozenset(made) for field, made in of.items()} for source, of in fed.items()},
                named(taken.told),
                None if taken.columns is None else named(taken.columns),
            )
        )
    return found
