"""Declared entities by words: a schedule is found by its own name, description, tags and owners, and leads to the dataset that has it."""

from collections import OrderedDict
from typing import Any

import msgspec

from headwater.answer.search import search
from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import homes
from headwater.entities.declaration.entity import EntityDeclaration
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store

_MOST = 20


class ScheduleHit(msgspec.Struct, frozen=True):
    """`datasets`: node ids of those that hold it, as far as known."""

    entity: str
    description: str
    datasets: list[str]


class ScheduledResult(search.SearchResult):
    """`schedules`: declared entities that have all the words as they were typed; none if a filter leaves only some datasets."""

    schedules: list[ScheduleHit]


async def search_everything(
    database: Database,
    q: str,
    *,
    type: str | None = None,
    namespace: str | None = None,
    tag: str | None = None,
    owner: str | None = None,
    platform: str | None = None,
    children: bool = False,
    limit: int = 20,
    offset: int = 0,
) -> ScheduledResult:
    """Search as `search.search` does, with the schedules that have the words."""
    narrow = {"namespace": namespace, "tag": tag, "owner": owner, "platform": platform}
    found = await search.search(database, q, type=type, **narrow, children=children, limit=limit, offset=offset)
    schedules = []
    if search.kind_of(type) in {None, "DATASET"} and not any(narrow.values()) and not offset:
        async with database.snapshot() as connection:
            schedules = await matching_schedules(connection, q)
    return ScheduledResult(**msgspec.structs.asdict(found), schedules=schedules)


_TEXTS: OrderedDict[Any, list[tuple[str, str]]] = OrderedDict()
"""By the state of the declarations: thousands of texts take milliseconds to put together."""


async def matching_schedules(connection: Connection, q: str) -> list[ScheduleHit]:
    """Entities that have all the words, the shortest name first; at most 20."""
    held = await declared(connection)
    if held.id not in _TEXTS:
        _TEXTS[held.id] = [(name, _text(one)) for name, one in sorted(held.declared.items())]
        while len(_TEXTS) > 2:
            _TEXTS.popitem(last=False)
    words = q.casefold().split()
    names = [name for name, text in _TEXTS[held.id] if all(word in text for word in words)]
    found = sorted(names, key=lambda name: (q.casefold() != name.casefold(), len(name), name))[:_MOST]
    if not found:
        return []
    held_by = await homes(connection, held, found)
    rows = await node_store.by_ids(connection, {id_ for those in held_by.values() for id_ in those})
    return [
        ScheduleHit(name, held.declared[name].description, sorted(rows[id_].node_id for id_ in held_by[name]))
        for name in found
    ]


def _text(one: EntityDeclaration) -> str:
    tags = [text for name, values in one.tags.items() for text in (name, *values)]
    return "\n".join([one.name, one.description, *tags, *one.owners]).casefold()
