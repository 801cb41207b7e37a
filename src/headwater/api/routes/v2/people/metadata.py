"""`/api/v2/metadata` and `/api/v2/changes`: metadata by people on datasets, jobs and columns, and its audit."""

from typing import Annotated, Any, Literal
from urllib.parse import unquote

import msgspec
from litestar import Request, delete, get, put
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter

from headwater.answer import tagged_group
from headwater.answer.history import changes as said
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import Limit, Offset, OptionalText, Segment, Text, Time
from headwater.errors import NotFound
from headwater.intake.people import manual, manual_targets
from headwater.intake.people.manual import Recorded
from headwater.model.manual import (
    Change,
    ColumnPair,
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
from headwater.model.moments import aware
from headwater.model.tags import Place, TagSchema

Column = Annotated[str | None, QueryParameter(max_length=20_000, description="A column of the dataset.")]


class DescriptionBody(msgspec.Struct):
    text: str


class OwnerBody(msgspec.Struct):
    type: str | None = None


class TagBody(msgspec.Struct):
    value: str | int | float | bool | None = None


class SchemaBody(msgspec.Struct):
    """See `model.tags.TagSchema`."""

    type: Literal["none", "string", "number", "boolean", "enum", "date", "pattern"] = "none"
    description: str | None = None
    values: tuple[str, ...] = ()
    pattern: str | None = None
    applies_to: tuple[Place, ...] = ("dataset", "job", "column")


class NamespaceBody(msgspec.Struct):
    """Absent fields stay unchanged."""

    owner: str | None = None
    description: str | None = None


class SourceBody(msgspec.Struct):
    type: str
    url: str
    description: str | None = None


class EdgeBody(msgspec.Struct):
    """`source` and `target` are node ids; columns pair a column of the one with one of the other."""

    source: str
    target: str
    columns: list[ColumnPair] = []


async def _record(
    state: State, request: Request[Any, Any, Any], as_: str | None, change: manual.ProposedChange
) -> Recorded:
    return await manual.record(
        state.database, change, author(request, as_), strict_tags=state.settings.metadata.strict_tags
    )


def _target(kind: str, namespace: str, name: str, column: str | None = None) -> Target:
    if kind not in {"datasets", "jobs"}:
        raise NotFound(f"only datasets, jobs, namespaces, sources, tags and edges have metadata, not {kind!r}")
    return Target("dataset" if kind == "datasets" else "job", unquote(name), unquote(namespace), column)


@get("/metadata")
async def about(state: State, node: Text) -> said.Metadata:
    """Return all metadata by people on one object, with authors and times."""
    return await said.about(state.database, node)


@put("/metadata/{kind:str}/{namespace:str}/{name:str}/description")
async def describe(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    data: JSONBody[DescriptionBody],
    column: Column = None,
    as_: As = None,
) -> Recorded:
    """Describe a dataset, job or column."""
    return await _record(state, request, as_, Describe(_target(kind, namespace, name, column), data.text))


@delete("/metadata/{kind:str}/{namespace:str}/{name:str}/description", status_code=200)
async def undescribe(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    column: Column = None,
    as_: As = None,
) -> Recorded:
    """Remove a description; that of events is shown again."""
    return await _record(state, request, as_, Describe(_target(kind, namespace, name, column), None))


@put("/metadata/{kind:str}/{namespace:str}/{name:str}/owners/{owner:str}")
async def own(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    owner: Segment,
    data: JSONBody[OwnerBody | None] = None,
    as_: As = None,
) -> Recorded:
    """Add an owner."""
    change = Own(_target(kind, namespace, name), unquote(owner), data.type if data else None)
    return await _record(state, request, as_, change)


@delete("/metadata/{kind:str}/{namespace:str}/{name:str}/owners/{owner:str}", status_code=200)
async def disown(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    owner: Segment,
    as_: As = None,
) -> Recorded:
    """Remove an owner from any source."""
    return await _record(state, request, as_, Disown(_target(kind, namespace, name), unquote(owner)))


@put("/metadata/{kind:str}/{namespace:str}/{name:str}/tags/{tag:str}")
async def tag(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    tag: Segment,
    data: JSONBody[TagBody | None] = None,
    column: Column = None,
    as_: As = None,
) -> Recorded:
    """Tag a dataset, job or column; a value must fit the tag's schema."""
    change = Tag(_target(kind, namespace, name, column), unquote(tag), data.value if data else None)
    return await _record(state, request, as_, change)


@delete("/metadata/{kind:str}/{namespace:str}/{name:str}/tags/{tag:str}", status_code=200)
async def untag(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    tag: Segment,
    column: Column = None,
    as_: As = None,
) -> Recorded:
    """Remove a tag from any source."""
    return await _record(state, request, as_, Untag(_target(kind, namespace, name, column), unquote(tag)))


@put("/metadata/{kind:str}/{namespace:str}/{name:str}/hidden")
async def hide(
    request: Request[Any, Any, Any], state: State, kind: Segment, namespace: Segment, name: Segment, as_: As = None
) -> Recorded:
    """Hide a dataset or job from lists and searches until an event reports it."""
    return await _record(state, request, as_, Hide(_target(kind, namespace, name)))


@delete("/metadata/{kind:str}/{namespace:str}/{name:str}/hidden", status_code=200)
async def unhide(
    request: Request[Any, Any, Any], state: State, kind: Segment, namespace: Segment, name: Segment, as_: As = None
) -> Recorded:
    """Show a hidden dataset or job again."""
    return await _record(state, request, as_, Unhide(_target(kind, namespace, name)))


@put("/metadata/{kind:str}/{namespace:str}/{name:str}/aliases/{alias_namespace:str}/{alias:str}")
async def link(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    alias_namespace: Segment,
    alias: Segment,
    as_: As = None,
) -> Recorded:
    """Merge a dataset with its other name into one."""
    change = Link(_target(kind, namespace, name), Target("dataset", unquote(alias), unquote(alias_namespace)))
    return await _record(state, request, as_, change)


@delete("/metadata/{kind:str}/{namespace:str}/{name:str}/aliases/{alias_namespace:str}/{alias:str}", status_code=200)
async def unlink(
    request: Request[Any, Any, Any],
    state: State,
    kind: Segment,
    namespace: Segment,
    name: Segment,
    alias_namespace: Segment,
    alias: Segment,
    as_: As = None,
) -> Recorded:
    """Remove an alias: the two are separate datasets again, unless events report them as one."""
    change = Unlink(_target(kind, namespace, name), Target("dataset", unquote(alias), unquote(alias_namespace)))
    return await _record(state, request, as_, change)


@put("/metadata/edges")
async def draw_edge(
    request: Request[Any, Any, Any], state: State, data: JSONBody[EdgeBody], as_: As = None
) -> Recorded:
    """Draw an edge from dataset to job, job to dataset, or dataset to dataset."""

    async def draw(connection: Any, identity: Any) -> Change:
        source = await manual_targets.of_node_id(connection, data.source, identity)
        target = await manual_targets.of_node_id(connection, data.target, identity)
        return DrawEdge(source, target, tuple(data.columns))

    return await _record(state, request, as_, draw)


@delete("/metadata/edges", status_code=200)
async def remove_edge(
    request: Request[Any, Any, Any], state: State, source: Text, target: Text, as_: As = None
) -> Recorded:
    """Remove a drawn edge."""

    async def remove(connection: Any, identity: Any) -> Change:
        return RemoveEdge(
            await manual_targets.of_node_id(connection, source, identity),
            await manual_targets.of_node_id(connection, target, identity),
        )

    return await _record(state, request, as_, remove)


@get("/metadata/tags")
async def tags(state: State, limit: Limit = 100, offset: Offset = 0) -> said.DefinedTags:
    """List the defined tags."""
    return await said.tags(state.database, limit=limit, offset=offset)


@get("/metadata/tags/{tag:str}")
async def get_tag(state: State, tag: Segment) -> said.DefinedTag:
    """Return a tag's meaning and its allowed values."""
    return await said.tag(state.database, unquote(tag))


@put("/metadata/tags/{tag:str}")
async def define_tag(
    request: Request[Any, Any, Any],
    state: State,
    tag: Segment,
    data: JSONBody[SchemaBody | None] = None,
    as_: As = None,
) -> Recorded:
    """Define a tag."""
    given = data or SchemaBody()
    schema = TagSchema(given.type, given.description, given.values, given.pattern, given.applies_to)
    return await _record(state, request, as_, DefineTag(unquote(tag), schema))


@delete("/metadata/tags/{tag:str}", status_code=200)
async def remove_tag(request: Request[Any, Any, Any], state: State, tag: Segment, as_: As = None) -> Recorded:
    """Remove a tag's definition; objects keep the tag."""
    return await _record(state, request, as_, RemoveTag(unquote(tag)))


@put("/metadata/namespaces/{namespace:str}")
async def name_namespace(
    request: Request[Any, Any, Any], state: State, namespace: Segment, data: JSONBody[NamespaceBody], as_: As = None
) -> list[Recorded]:
    """Set the owner and description of a namespace."""
    changes: list[Change] = []
    if data.owner is not None:
        changes.append(NameNamespace(unquote(namespace), data.owner))
    if data.description is not None:
        changes.append(Describe(Target("namespace", unquote(namespace)), data.description or None))
    return [await _record(state, request, as_, change) for change in changes]


@put("/metadata/namespaces/{namespace:str}/hidden")
async def hide_namespace(request: Request[Any, Any, Any], state: State, namespace: Segment, as_: As = None) -> Recorded:
    """Hide a namespace and everything in it from lists and searches."""
    return await _record(state, request, as_, Hide(Target("namespace", unquote(namespace))))


@delete("/metadata/namespaces/{namespace:str}/hidden", status_code=200)
async def unhide_namespace(
    request: Request[Any, Any, Any], state: State, namespace: Segment, as_: As = None
) -> Recorded:
    """Show a namespace and everything in it again."""
    return await _record(state, request, as_, Unhide(Target("namespace", unquote(namespace))))


@put("/metadata/sources/{source:str}")
async def name_source(
    request: Request[Any, Any, Any], state: State, source: Segment, data: JSONBody[SourceBody], as_: As = None
) -> Recorded:
    """Set a data source's type, address and description."""
    return await _record(state, request, as_, NameSource(unquote(source), data.type, data.url, data.description))


@get("/changes")
async def changes(
    state: State,
    target: OptionalText = None,
    author: Annotated[str | None, QueryParameter(max_length=200)] = None,
    action: OptionalText = None,
    since: Time = None,
    until: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> said.Changes:
    """List changes by people, the latest first: author, time, before and after."""
    return await said.changes(
        state.database,
        target=target,
        author=author,
        action=action,
        since=aware(since),
        until=aware(until),
        limit=limit,
        offset=offset,
    )


@get("/groups")
async def get_group(
    state: State,
    tag: Annotated[str, QueryParameter(max_length=500, description="Such as `team:web` or `product:funnel`.")],
) -> tagged_group.TaggedGroup:
    """Return a team or product: what carries its tag, what is wrong with it now, its freshness, its cost, and its neighbours."""
    return await tagged_group.tagged_group(state.database, tag)


handlers = [
    get_group,
    about, describe, undescribe, own, disown, tag, untag, hide, unhide, link, unlink, draw_edge, remove_edge, tags, get_tag,
    define_tag, remove_tag, name_namespace, hide_namespace, unhide_namespace, name_source, changes,
]  # fmt: skip
