"""The changes by people that hold: descriptions, owners, tags and the rest, the latest of each; and their effects on other tables."""

import datetime as dt
import uuid
from collections.abc import Collection
from typing import Any

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.events import projections


class Annotation(msgspec.Struct, frozen=True):
    """The latest change by a person. `target` is a node id, of a column with `#column`; `deleted`: that it does not hold."""

    target: str
    field: str
    kind: str
    key: str
    value: dict[str, Any]
    deleted: bool
    author: str
    at: dt.datetime


def _annotation(row: sqlfile.Row) -> Annotation:
    return Annotation(*(*row[1:5], msgspec.json.decode(row[5]), *row[6:]))


async def of_owners(connection: Connection, owners: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Annotation]]:
    """Return all changes to each dataset (under any of its names, its columns too) or job, by id; deleted ones too. One statement."""
    found: dict[uuid.UUID, list[Annotation]] = {}
    if owners:
        for row in await sqlfile.load("people/annotations")["of_owners"].many(connection, owners=list(owners)):
            found.setdefault(row[0], []).append(_annotation(row))
    return found


async def of_targets(connection: Connection, node_ids: Collection[str]) -> dict[str, list[Annotation]]:
    """Return all changes to exactly each node, by node id: for `namespace:x`, `source:x`, `tag:x`. Other names of a dataset are ignored."""
    found: dict[str, list[Annotation]] = {}
    if node_ids:
        for row in await sqlfile.load("people/annotations")["of_targets"].many(connection, targets=list(node_ids)):
            found.setdefault(row[0], []).append(_annotation(row))
    return found


async def of_kind(connection: Connection, kind: str, *, limit: int, offset: int) -> list[Annotation]:
    """Return everything of one kind that holds, by target: `schema` (tags), `source`."""
    rows = await sqlfile.load("people/annotations")["of_kind"].many(connection, kind=kind, limit=limit, offset=offset)
    return [_annotation(row) for row in rows]


async def datasets_with_tags(connection: Connection) -> list[uuid.UUID]:
    """Return the datasets that carry any tag, or whose columns do: by events and people, those that were taken back too."""
    return [row[0] for row in await sqlfile.load("people/annotations")["datasets_with_tags"].many(connection)]


async def of_things(connection: Connection, kind: str) -> list[Annotation]:
    """Return everything that holds of every `namespace`, `source` or `tag`."""
    return [
        _annotation(row)
        for row in await sqlfile.load("people/annotations")["of_things"].many(connection, prefix=f"{kind}:")
    ]


async def tag_names(connection: Connection) -> list[str]:
    """Return every tag that people put on something, as they spell it."""
    return [row[0] for row in await sqlfile.load("people/annotations")["tag_names"].many(connection)]


async def lock(connection: Connection, owners: Collection[uuid.UUID]) -> None:
    """Hold these datasets and jobs to the end of the transaction, as writing them does, in the order in which events do."""
    queries = sqlfile.load("people/annotations")
    await queries["lock_datasets"].exec(connection, ids=list(owners))
    await queries["lock_jobs"].exec(connection, ids=list(owners))


class AnnotationEffects(msgspec.Struct):
    """The effects of changes: datasets and jobs whose names or hiding changed, and namespaces whose hiding did."""

    nodes: set[uuid.UUID]
    namespaces: set[str]


async def settle(
    connection: Connection, owners: Collection[uuid.UUID] | None, namespaces: Collection[str] | None
) -> AnnotationEffects:
    """Make hidden flags, drawn edges and linked names as the annotations of these datasets and jobs say; None means all.

    If one of them is an alias, it is written `projections.alone`.
    """
    queries = sqlfile.load("people/annotations")
    given = None if owners is None else list(owners)
    targets = None if namespaces is None else [f"namespace:{name}" for name in namespaces]
    nodes = {row[0] for row in await queries["settle_hidden_datasets"].many(connection, owners=given)}
    nodes |= {row[0] for row in await queries["settle_hidden_jobs"].many(connection, owners=given)}
    spaces = {row[0] for row in await queries["settle_hidden_namespaces"].many(connection, targets=targets)}
    await queries["settle_edges"].exec(connection, jobs=given)
    ends = await queries["unlink"].many(connection, owners=given) + await queries["link"].many(connection, owners=given)
    if ends:
        nodes |= await _resettle(connection, {id_ for row in ends for id_ in row})
    return AnnotationEffects(nodes, spaces)


async def _resettle(connection: Connection, ids: Collection[uuid.UUID]) -> set[uuid.UUID]:
    """Make groups of names anew from the links; return the datasets that were or are in one."""
    rows = await sqlfile.load("people/annotations")["forget_names"].many(connection, ids=sorted(ids))
    if linked := [row[0] for row in rows if row[1]]:
        await projections.settle_names(connection, linked)
    return {row[0] for row in rows}
