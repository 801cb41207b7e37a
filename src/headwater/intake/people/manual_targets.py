"""Resolve the targets of manual changes to stored datasets, jobs and columns. Raises NotFound for an unknown target."""

import difflib
import uuid
from collections.abc import Collection

import msgspec

from headwater.errors import Ambiguous, InvalidChange, NotFound
from headwater.model import facets as known
from headwater.model import tags, version
from headwater.model.identity import Identity
from headwater.model.manual import (
    Change,
    DefineTag,
    Describe,
    Disown,
    DrawEdge,
    Hide,
    Link,
    NameNamespace,
    NameSource,
    Own,
    RemoveEdge,
    RemoveTag,
    Tag,
    Target,
    Unhide,
    Unlink,
    Untag,
)
from headwater.model.names import DatasetName, JobName, distinct_node_id, node_id_readings
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import names, nodes
from headwater.store.lineage.nodes import NodeRow
from headwater.store.people import annotations as annotation_store
from headwater.store.people.annotations import Annotation


async def resolved(  # noqa: PLR0911 - one case for each kind
    connection: Connection, change: Change, identity: Identity, *, strict_tags: bool
) -> Change:
    """The change with canonical names, checked against the stored nodes.

    The names of a link stay as given. The ends of an edge and an alias may be new; the target of any other change must exist.
    """
    match change:
        case Describe(target) | Own(target) | Disown(target) | Untag(target):
            return msgspec.structs.replace(change, target=await existing(connection, target, identity))
        case Tag(target):
            target = await existing(connection, target, identity)
            return await _tag(connection, msgspec.structs.replace(change, target=target), strict=strict_tags)
        case Hide(target) | Unhide(target):
            target = await existing(connection, target, identity)
            along = await _along(connection, target, hidden=isinstance(change, Unhide))
            return msgspec.structs.replace(change, target=target, along=along)
        case Link(target, alias) | Unlink(target, alias):
            ends = (target.placed(identity), alias.placed(identity))
            if ends[0] == ends[1]:
                raise InvalidChange(
                    f"{target.text!r} and {alias.text!r} are the same name; name two", target=target.text
                )
            if isinstance(change, Unlink):
                return Unlink(*await _direction(connection, *ends))
            return Link(*ends)
        case DrawEdge() | RemoveEdge():
            source = await _settled(connection, change.source.placed(identity))
            target = await _settled(connection, change.target.placed(identity))
            return msgspec.structs.replace(change, source=source, target=target)
        case DefineTag() | RemoveTag() | NameNamespace() | NameSource():
            return change


async def existing(connection: Connection, target: Target, identity: Identity) -> Target:
    """The target by its canonical name. Raises NotFound; for a column, with similar names."""
    if target.kind == "namespace":
        if not await nodes.existing_namespaces(connection, [target.name]):
            raise NotFound(f"namespace {target.name!r} is not known", target=target.text)
        return target
    placed = target.placed(identity)
    assert placed.id is not None
    rows = await nodes.by_ids(connection, [placed.id])
    if not rows:
        raise NotFound(
            f"{target.kind} {target.name!r} is not known in namespace {target.namespace!r}", node=target.node
        )
    found = await _settled(connection, placed)
    return found if found.field is None else await _column(connection, found)


async def _settled(connection: Connection, target: Target) -> Target:
    """The dataset by its canonical name."""
    if target.kind != "dataset" or target.id is None:
        return target
    other = await names.canonical(connection, [target.id])
    if target.id not in other:
        return target
    row = (await nodes.by_ids(connection, [other[target.id]]))[other[target.id]]
    return msgspec.structs.replace(target, namespace=row.namespace, name=row.name)


async def _column(connection: Connection, target: Target) -> Target:
    """The column with the schema's spelling. A dataset without a schema accepts any column."""
    assert target.id is not None
    assert target.field is not None
    facets = (await facet_store.of_owners(connection, [target.id], ["schema"])).get(target.id, {})
    try:
        fields = [field.name for field in known.schema(facets["schema"])] if "schema" in facets else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        fields = []
    if not fields or target.field in fields:
        return target
    same = [field for field in fields if field.casefold() == target.field.casefold()]
    if len(same) == 1:
        return msgspec.structs.replace(target, field=same[0])
    near = difflib.get_close_matches(target.field, fields, 5)
    raise NotFound(f"{target.node!r} has no column {target.field!r}", column=target.field, suggestions=near)


async def _tag(connection: Connection, change: Tag, *, strict: bool) -> Tag:
    """The tag with its schema's spelling, and a value that fits."""
    found = await defined(connection, change.name)
    if found is None and strict:
        raise InvalidChange(
            f"the tag {change.name!r} is not defined, and this server accepts defined tags only; define it first",
            tag=change.name,
        )
    name, schema = found or (change.name, None)
    return Tag(change.target, name, tags.fitted(name, schema, change.value, _place(change.target)))


async def defined(connection: Connection, tag: str) -> tuple[str, tags.TagSchema] | None:
    """A tag's spelling and schema, or None if it is not defined."""
    target = Target("tag", tag).text
    for one in (await annotation_store.of_targets(connection, [target])).get(target, ()):
        if one.kind == "schema" and not one.deleted:
            return str(one.value["name"]), _schema(one)
    return None


def _schema(annotation: Annotation) -> tags.TagSchema:
    return msgspec.convert({k: v for k, v in annotation.value.items() if k != "name"}, tags.TagSchema)


def _place(target: Target) -> tags.Place:
    return "column" if target.field is not None else "job" if target.kind == "job" else "dataset"


async def _along(connection: Connection, target: Target, *, hidden: bool) -> tuple[Target, ...]:
    """Return the targets that are hidden, or unhidden, along with one: all datasets and jobs of a namespace; a dataset's other names."""
    if target.kind == "namespace":
        rows = await nodes.of_namespace(connection, target.name, hidden=hidden)
        return tuple(_target(row) for row in rows)
    if target.kind == "dataset" and target.id is not None:
        others = (await names.aliases(connection, [target.id])).get(target.id, [])
        return tuple(Target("dataset", other.name, other.namespace) for other in others)
    return ()


def _target(row: NodeRow) -> Target:
    return Target("dataset" if row.type == "DATASET" else "job", row.name, row.namespace)


async def _direction(connection: Connection, one: Target, two: Target) -> tuple[Target, Target]:
    """The direction in which a person linked these names: (target, alias). Raises NotFound if they are not linked."""
    annotations = await annotation_store.of_targets(connection, [one.text, two.text])
    for target, alias in ((one, two), (two, one)):
        if any(a.kind == "alias" and a.key == alias.node and not a.deleted for a in annotations.get(target.text, ())):
            return target, alias
    raise NotFound(f"there is no manual link between {one.node!r} and {two.node!r}", node=one.node)


async def of_node_id(connection: Connection, node_id: str, identity: Identity) -> Target:
    """The target of a node id: the reading of its colons that exists; if none does, the one with the longest namespace.

    Raises Ambiguous if several exist.
    """
    readings = node_id_readings(node_id)
    if not readings:
        raise InvalidChange(
            f"{node_id!r} is not the node id of a dataset or job; write dataset:NAMESPACE:NAME or job:NAMESPACE:NAME",
            node=node_id,
        )
    ids = {_id(reading, identity): reading for reading in readings}
    rows = await nodes.by_ids(connection, ids.keys())
    if len(rows) > 1:
        kind = node_id.partition(":")[0]
        own = sorted(distinct_node_id(kind, ids[id_].namespace, ids[id_].name) for id_ in rows)
        raise Ambiguous(f"{node_id!r} is the id of {len(own)} nodes; name one of {', '.join(own)}", candidates=own)
    best = max([ids[id_] for id_ in rows] or readings, key=lambda name: len(name.namespace))
    return Target("dataset" if isinstance(best, DatasetName) else "job", best.name, best.namespace)


def _id(name: DatasetName | JobName, identity: Identity) -> uuid.UUID:
    return version.job_id(name) if isinstance(name, JobName) else version.dataset_id(identity.place(name).name)


async def hidden_groups(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Target]]:
    """id → the dataset's other names: an event that mentions one name unhides all of them."""
    canonical = await names.canonical(connection, ids)
    heads = {canonical.get(id_, id_) for id_ in ids}
    members = await names.members(connection, heads)
    everything = heads | {id_ for ids_ in members.values() for id_ in ids_}
    rows = await nodes.by_ids(connection, everything)
    found: dict[uuid.UUID, list[Target]] = {}
    for id_ in ids:
        head = canonical.get(id_, id_)
        found[id_] = [
            _target(rows[other]) for other in (head, *members.get(head, ())) if other in rows and other != id_
        ]
    return found
