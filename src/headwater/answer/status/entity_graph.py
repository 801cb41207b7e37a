"""The graph of entities, now or at any time before: all of it, what is around one, or as teams and products see it.

What is `transparent` (a view that only points at another) is left out, and its lines go through. Grouped by a tag, the lines between two groups are
one, and say which dependencies they stand for.
"""

import datetime as dt
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from headwater.answer.status.declared import declared
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.errors import InvalidQuestion
from headwater.store.database import Database

_NO_VALUE = "(none)"


class GraphNode(msgspec.Struct, frozen=True):
    """An entity, or with `group` the group of that name: `entities` are those in it."""

    name: str
    period: str | None
    entities: list[str]


class GraphEdge(msgspec.Struct, frozen=True):
    """`dates`: what the dependencies say that this line stands for, each once. `dependencies`: how many those are."""

    upstream: str
    downstream: str
    dates: list[str]
    dependencies: int


class EntityGraph(msgspec.Struct, frozen=True):
    """`hidden`: transparent entities that were left out. `more`: nodes beyond `max_nodes`."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    hidden: list[str]
    more: int


async def graph(
    database: Database,
    *,
    entity: str | None = None,
    direction: Literal["upstream", "downstream", "both"] = "both",
    depth: int = 100,
    tag: str | None = None,
    group: str | None = None,
    as_of: dt.datetime | None = None,
    max_nodes: int = 2000,
) -> EntityGraph:
    """Return the graph of all entities, or around one so far; only of a tag (`team=data-eng`); grouped by the values of
    a tag (`team`). NotFound for an unknown entity."""
    if direction not in {"upstream", "downstream", "both"}:
        raise InvalidQuestion(
            f"direction {direction!r} is neither upstream, downstream nor both", parameter="direction"
        )
    async with database.snapshot() as connection:
        held = await declared(connection, as_of)
    lines, hidden = _contracted(held)
    names = list(held.declared)
    if entity is not None:
        held.number(entity)
        names = _around(lines, entity, direction, depth)
    if tag is not None:
        key, equals, value = tag.partition("=")
        names = [
            name
            for name in names
            if key in held.declared[name].tags and (not equals or value in held.declared[name].tags[key])
        ]
    shown = {name for name in names if name not in hidden or name == entity}
    groups = {name: [name] for name in shown} if group is None else _grouped(held, shown, group)
    return _drawn(
        held, lines, groups, sorted(hidden & set(names) - {entity or ""}), max_nodes, grouped=group is not None
    )


Lines = Mapping[tuple[str, str], list[str]]


def _contracted(held: StoredDeclarations) -> tuple[dict[tuple[str, str], list[str]], set[str]]:
    """The dates of each line from upstream to downstream; those to and from a transparent entity are joined."""
    hidden = {name for name, one in held.declared.items() if one.transparent}
    lines: dict[tuple[str, str], list[str]] = {}

    def sources(name: str, seen: frozenset[str]) -> Iterable[str]:
        for link in held.graph.upstream(name):
            if link.upstream in hidden and link.upstream not in seen:
                yield from sources(link.upstream, seen | {link.upstream})
            elif link.upstream not in hidden:
                yield link.upstream

    for name in held.declared:
        for link in held.graph.upstream(name):
            dates = "carried" if link.carried else str(link.dates)
            lines.setdefault((link.upstream, name), []).append(dates)
            if link.upstream in hidden and name not in hidden:
                for source in sources(link.upstream, frozenset({link.upstream})):
                    lines.setdefault((source, name), []).append(dates)
    return lines, hidden


def _around(lines: Lines, entity: str, direction: str, depth: int) -> list[str]:
    found = {entity: None}
    for way in ("upstream", "downstream"):
        if direction not in {way, "both"}:
            continue
        after: dict[str, list[str]] = {}
        for upstream, downstream in lines:
            one, other = (downstream, upstream) if way == "upstream" else (upstream, downstream)
            after.setdefault(one, []).append(other)
        seen, left = {entity}, deque([(entity, 0)])
        while left:
            name, far = left.popleft()
            for other in after.get(name, []) if far < depth else []:
                if other not in seen:
                    seen.add(other)
                    found[other] = None
                    left.append((other, far + 1))
    return list(found)


def _grouped(held: StoredDeclarations, names: set[str], tag: str) -> dict[str, list[str]]:
    """An entity with several values is in the group of each."""
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        for value in held.declared[name].tags.get(tag) or (_NO_VALUE,):
            found.setdefault(value, []).append(name)
    return found


def _drawn(
    held: StoredDeclarations,
    lines: Lines,
    groups: Mapping[str, list[str]],
    hidden: list[str],
    max_nodes: int,
    *,
    grouped: bool,
) -> EntityGraph:
    kept = dict(sorted(groups.items())[:max_nodes])
    of: dict[str, list[str]] = {}
    for group, names in kept.items():
        for name in names:
            of.setdefault(name, []).append(group)
    edges: dict[tuple[str, str], list[str]] = {}
    for (upstream, downstream), dates in lines.items():
        for one in of.get(upstream, ()):
            for other in of.get(downstream, ()):
                if not grouped or one != other:
                    edges.setdefault((one, other), []).extend(dates)
    nodes = []
    for name, names in kept.items():
        instances = None if grouped else held.instances(name)
        period = f"{instances.calendar.every_text}, {instances.calendar.spec.zone}" if instances is not None else None
        nodes.append(GraphNode(name, period, names))
    return EntityGraph(
        nodes,
        [GraphEdge(one, other, sorted(set(dates)), len(dates)) for (one, other), dates in sorted(edges.items())],
        hidden,
        len(groups) - len(kept),
    )
