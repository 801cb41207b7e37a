"""Entities: their declarations, their consumers, and the history of both."""

import datetime as dt
from typing import Any

import msgspec

from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import Home, homes
from headwater.entities.declaration.canonical import document
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import by_entity
from headwater.entities.time import keys
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.status import entities as store
from headwater.store.status import status as status_store


class ProducerView(msgspec.Struct, frozen=True):
    """A job that makes an entity. `every`: its period, null if that of the entity; `max_periods`: so many in one run at most."""

    job: str
    every: str | None
    max_periods: int | None


class EntityView(msgspec.Struct, frozen=True):
    """`period`: such as `day, Europe/Paris`; null for a static one. `latest`: its newest instance that exists. `wrong`: instances that are.

    `homes`: the datasets that hold it.
    """

    entity: str
    kind: str
    period: str | None
    states: list[str]
    upstream: list[str]
    downstream: list[str]
    tags: dict[str, list[str]]
    owners: list[str]
    produced_by: list[ProducerView]
    latest: str | None
    wrong: int
    homes: list[Home]


class EntityList(msgspec.Struct, frozen=True):
    """`total`: that match."""

    total: int
    entities: list[EntityView]


class LinkView(msgspec.Struct, frozen=True):
    """The instances of another entity that a state of one needs. `instead`: taken when waiting for another is over."""

    downstream: str
    state: str
    upstream: str
    dates: str
    states: list[str]
    instead: bool


class OneEntity(msgspec.Struct, frozen=True):
    """`declared`: the canonical form, which is YAML too."""

    entity: EntityView
    declared: dict[str, Any]
    needs: list[LinkView]
    needed_by: list[LinkView]


class Declared(msgspec.Struct, frozen=True):
    """A declaration that held from one time until another; `until` null: it still holds."""

    since: dt.datetime
    until: dt.datetime | None
    author: str
    declared: msgspec.Raw


class History(msgspec.Struct, frozen=True):
    """The declarations of an entity, the latest first."""

    entity: str
    declared: list[Declared]


async def entities(
    database: Database,
    *,
    tag: str | None = None,
    text: str | None = None,
    produced_by: str | None = None,
    as_of: dt.datetime | None = None,
    limit: int = 100,
    offset: int = 0,
) -> EntityList:
    """Return entities by name: those with a tag (`team=data-eng`, or `team`), with a text in the name, made by a job, as of a time."""
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        names = [
            name
            for name, one in sorted(held.declared.items())
            if (not text or text.lower() in name.lower())
            and (not tag or _tagged(one.tags, tag))
            and (not produced_by or any(each.job == produced_by for each in one.produced_by))
        ]
        page = names[offset : offset + limit]
        views = await _entity_views(connection, held, page)
    return EntityList(len(names), views)


async def entity(database: Database, name: str, *, as_of: dt.datetime | None = None) -> OneEntity:
    """Return one entity. NotFound, with the nearest name there is."""
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
        held.number(name)
        (view,) = await _entity_views(connection, held, [name])
    graph = held.graph
    return OneEntity(
        view,
        document(held.declaration(name)),
        [_link(link) for link in graph.upstream(name)],
        [_link(link) for link in graph.downstream(name)],
    )


async def history(database: Database, name: str, limit: int = 100, offset: int = 0) -> History:
    """Return the earlier declarations under a name, and those under other names of the entity that has it now. NotFound if there never was any."""
    async with database.snapshot() as connection:
        found = await store.history(connection, name, limit, offset)
        if not found and not offset:
            raise (await declared(connection)).unknown(name)
    return History(name, [Declared(one.since, one.until, one.author, msgspec.Raw(one.body)) for one in found])


def _tagged(tags: Any, asked: str) -> bool:
    name, equals, value = asked.partition("=")
    return name in tags and (not equals or value in tags[name])


async def _entity_views(connection: Connection, held: StoredDeclarations, names: list[str]) -> list[EntityView]:
    """The views of these entities, in their order. A fixed number of statements."""
    if not names:
        return []
    marks = by_entity(await status_store.marks_of(connection, [held.ids[name] for name in names]))
    placed = await homes(connection, held, names)
    nodes = await node_store.by_ids(connection, {id_ for datasets in placed.values() for id_ in datasets})
    views = []
    for name in names:
        stored = [Home(nodes[id_].node_id, basis) for id_, basis in placed[name].items()]
        views.append(_entity_view(held, name, marks, sorted(stored, key=lambda home: home.dataset)))
    return views


def _entity_view(held: StoredDeclarations, name: str, marks: Any, stored: list[Home]) -> EntityView:
    one = held.declared[name]
    known = marks.get(held.ids[name])
    instances = one.entity.instances
    latest = known.exist.end - 1 if known is not None and known.exist else None
    period = None
    if instances is not None:
        period = f"{instances.calendar.every_text}, {instances.calendar.spec.zone}"
    return EntityView(
        name,
        type(one.entity.kind).__name__.lower(),
        period,
        list(one.entity.states),
        sorted({link.upstream for link in held.graph.upstream(name)}),
        sorted({link.downstream for link in held.graph.downstream(name)}),
        {tag: list(values) for tag, values in one.tags.items()},
        list(one.owners),
        [ProducerView(each.job, each.every, each.max_periods) for each in one.produced_by],
        keys.key(instances.calendar, latest) if instances is not None and latest is not None else None,
        known.wrong.count if known is not None else 0,
        stored,
    )


def _link(link: Any) -> LinkView:
    states = list(link.dependency.states) if link.dependency is not None else []
    dates = "carried" if link.carried else str(link.dates)
    return LinkView(link.downstream, link.state, link.upstream, dates, states, link.instead)
