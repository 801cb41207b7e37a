"""Changes by people: their audit, what still holds of one thing, tags and their schemas, drawn edges."""

import datetime as dt
import uuid
from typing import Any

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.tags import TagSchema, key_of
from headwater.store.database import Database
from headwater.store.people import annotations as annotation_store
from headwater.store.people import changes as change_store
from headwater.store.people.annotations import Annotation


class Change(msgspec.Struct):
    """One change. `before` and `after`: the values by kind and key; null if there is none."""

    id: uuid.UUID
    at: dt.datetime
    author: str
    action: str
    target: str
    change: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


class Changes(msgspec.Struct):
    total: int
    changes: list[Change]


class Statement(msgspec.Struct):
    """A change by a person that holds. `key` is the owner's, the tag's or the other end's; `field` a column."""

    kind: str
    key: str | None
    field: str | None
    value: dict[str, Any]
    removed: bool
    author: str
    at: dt.datetime


class Metadata(msgspec.Struct):
    id: str
    statements: list[Statement]


class DefinedTag(msgspec.Struct):
    name: str
    schema: TagSchema
    author: str
    at: dt.datetime


class DefinedTags(msgspec.Struct):
    tags: list[DefinedTag]


class _Body(msgspec.Struct):
    change: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]


_body = msgspec.json.Decoder(_Body)


async def changes(
    database: Database,
    *,
    target: str | None,
    author: str | None,
    action: str | None,
    since: dt.datetime | None,
    until: dt.datetime | None,
    limit: int,
    offset: int,
) -> Changes:
    """Return the changes by people from `since` on and before `until`, the latest first; of a node, those of its columns, edges and aliases too."""
    async with database.snapshot() as connection:
        found, total = await change_store.search(
            connection,
            target=target,
            author=author,
            action=action,
            since=since or "-infinity",
            until=until or "infinity",
            limit=limit,
            offset=offset,
        )
    shown = []
    for one in found:
        body = _body.decode(one.body)
        shown.append(Change(one.id, one.at, one.author, one.action, one.target, body.change, body.before, body.after))
    return Changes(total, shown)


async def about(database: Database, node_id: str) -> Metadata:
    """Return what still holds of the changes that people made to a dataset or job (by any name), namespace, source or tag. Raises NotFound."""
    kind, _, name = node_id.partition(":")
    async with database.snapshot() as connection:
        if kind in {"dataset", "job"}:
            row = await node_row(connection, node_id)
            said = (await annotation_store.of_owners(connection, [row.id])).get(row.id, [])
            return Metadata(row.node_id, [_statement(one) for one in said])
        if kind not in {"namespace", "source", "tag"}:
            raise InvalidQuestion(
                f"{node_id!r} must begin with dataset:, job:, namespace:, source: or tag:", node=node_id
            )
        target = f"{kind}:{key_of(name) if kind == 'tag' else name}"
        said = (await annotation_store.of_targets(connection, [target])).get(target, [])
    if not said:
        raise NotFound(f"no description, owner, tag or edge of {node_id!r} was ever recorded", node=node_id)
    return Metadata(target, [_statement(one) for one in said])


def _statement(one: Annotation) -> Statement:
    value = {key: value for key, value in one.value.items() if key != "id"}
    return Statement(one.kind, one.key or None, one.field or None, value, one.deleted, one.author, one.at)


async def tags(database: Database, *, limit: int, offset: int) -> DefinedTags:
    """Return every tag that is defined, by name."""
    async with database.connection() as connection:
        found = await annotation_store.of_kind(connection, "schema", limit=limit, offset=offset)
    return DefinedTags([_tag(one) for one in found])


async def tag(database: Database, name: str) -> DefinedTag:
    """Return one tag; its name is compared without case. Raises NotFound."""
    target = f"tag:{key_of(name)}"
    async with database.connection() as connection:
        said = (await annotation_store.of_targets(connection, [target])).get(target, [])
    for one in said:
        if one.kind == "schema" and not one.deleted:
            return _tag(one)
    raise NotFound(f"the tag {name!r} is not defined", tag=name)


def _tag(one: Annotation) -> DefinedTag:
    schema = msgspec.convert({key: value for key, value in one.value.items() if key != "name"}, TagSchema)
    return DefinedTag(str(one.value["name"]), schema, one.author, one.at)
