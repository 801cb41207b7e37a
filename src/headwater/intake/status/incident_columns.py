"""Follow column lineage for an incident that is about some columns: which columns of other entities may be wrong, and which entities are unaffected.

It uses the lineage of every run since the first wrong instance was produced, not only the current lineage: earlier versions were made by
earlier statements. If no column lineage was reported, all columns may be wrong.
"""

import datetime as dt
import difflib
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.columns import ALL, Carried, Columns, Dataset, JobColumns, Way, named, unknown
from headwater.errors import InvalidStatus
from headwater.model.identity import Identity
from headwater.model.moments import earlier
from headwater.model.names import DatasetName
from headwater.store.database import Connection
from headwater.store.events import server_state
from headwater.store.lineage import column_flow
from headwater.store.status import incidents as store
from headwater.store.status import stored_in

_MOST = 20_000
"""The most datasets through which columns are followed."""
_APART = dt.timedelta(days=1)
"""The assumed limit on clock skew between the producer that reports an instance and the producer of the run that read it."""


class Restricted(NamedTuple):
    """`columns`: the columns that may be wrong, by entity; `ALL` if unknown. `unaffected`: the (upstream, downstream) pairs over which no wrong
    column flows. `since`: when the first wrong instance was produced; None if unknown.
    """

    columns: Mapping[str, Columns]
    unaffected: frozenset[tuple[str, str]]
    since: dt.datetime | None


async def restricted(
    connection: Connection,
    held: StoredDeclarations,
    wrong: Mapping[str, Columns],
    since: dt.datetime | None,
    *,
    checked: Mapping[str, Columns],
) -> Restricted:
    """Follow these wrong columns downstream.

    Raises InvalidStatus if an entity of `checked` has known columns and not this one, if retention dropped the lineage of the time when the instances
    were produced, or if the columns reach too many datasets.
    """
    state = await server_state.read(connection)
    if state.log_dropped_before and (since is None or earlier(since, _APART) < state.log_dropped_before):
        raise InvalidStatus(
            f"column lineage from before {state.log_dropped_before:%Y-%m-%d %H:%M} was dropped by retention, and some of these instances are older; "
            "leave out the columns to mark everything that used these instances",
            kept_from=state.log_dropped_before.isoformat(),
        )
    stored = await _stored(connection, held, Identity(state.rules))
    await _checked(connection, held, stored, checked)
    carried = Carried(held.graph, stored, wrong)
    await _followed(connection, carried, since)
    return Restricted(carried.columns, frozenset(carried.unaffected()), since)


async def written(connection: Connection, held: StoredDeclarations, id_: uuid.UUID, found: Restricted) -> None:
    """Store the affected columns and unaffected pairs of an incident."""
    columns = [
        store.OfColumns(id_, held.number(name), None if some == ALL else sorted(some), found.since)
        for name, some in found.columns.items()
    ]
    await store.restrict(connection, columns)
    pairs = [(id_, held.number(up), held.number(down)) for up, down in sorted(found.unaffected)]
    await store.spare(connection, pairs)


async def spared(
    connection: Connection, held: StoredDeclarations, ids: Sequence[uuid.UUID]
) -> dict[str, frozenset[tuple[str, str]]]:
    """The (upstream, downstream) pairs over which no wrong column flows, by incident; none for incidents about whole instances."""
    found: dict[str, set[tuple[str, str]]] = {}
    for incident, upstream, downstream in await store.spared(connection, ids):
        if upstream in held.names and downstream in held.names:
            found.setdefault(str(incident), set()).add((held.names[upstream], held.names[downstream]))
    return {incident: frozenset(pairs) for incident, pairs in found.items()}


async def affected_now(
    connection: Connection, held: StoredDeclarations, incident: uuid.UUID, pairs: Sequence[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The given unaffected pairs over which, by the runs since, a wrong column flows after all. Stores that they are affected, and so are all users
    of their downstream entities, of which all columns may now be wrong.
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


async def _stored(connection: Connection, held: StoredDeclarations, identity: Identity) -> dict[str, list[Dataset]]:
    places = ((one.name, DatasetName(*place)) for one in held.declared.values() for place in one.stored_in)
    found: dict[str, list[Dataset]] = {}
    for dataset, entities in (await stored_in.homes(connection, identity, places)).items():
        for entity in entities:
            found.setdefault(entity, []).append(dataset)
    return found


async def _checked(
    connection: Connection,
    held: StoredDeclarations,
    stored: Mapping[str, Sequence[Dataset]],
    wrong: Mapping[str, Columns],
) -> None:
    reported = await column_flow.columns(connection, [dataset for name in wrong for dataset in stored.get(name, ())])
    for name, some in wrong.items():
        names = {column for dataset in stored.get(name, ()) for column in reported.get(dataset, ())}
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
                f"these columns flow into more than {_MOST:,} datasets; leave out the columns to mark everything that used these instances"
            )
        found = await column_flow.written_from(connection, some, None if since is None else earlier(since, _APART))
        carried.learn({id_: [JobColumns(one.dataset, _ways(one)) for one in every] for id_, every in found.items()})


def _ways(written: column_flow.WrittenDataset) -> list[Way]:
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
