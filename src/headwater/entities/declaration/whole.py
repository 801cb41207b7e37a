"""Many entities as one declaration: a graph that makes sense, or everything that is wrong with it by file and line; and what is odd but allowed."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from headwater.entities.declaration.document import Place, Problem
from headwater.entities.declaration.entity import EntityDeclaration, Path
from headwater.entities.declaration.reading import entities, refused
from headwater.entities.needs.edges import Edge
from headwater.entities.needs.graph import Dependency, Graph, Link
from headwater.entities.time.calendar import Calendar
from headwater.errors import InvalidEntities


class Declaration(NamedTuple):
    """`warnings` are problems that forbid nothing."""

    graph: Graph
    by_name: Mapping[str, EntityDeclaration]
    warnings: tuple[Problem, ...] = ()


def gathered(files: Iterable[tuple[str, str | bytes]]) -> Declaration:
    """Read all these texts, each with the name of its file, as one declaration.

    InvalidEntities as `read` and `whole`: where a text cannot be read nothing is compared."""
    problems: list[Problem] = []
    found = [declared for file, text in files for declared in entities(text, file, problems)]
    if problems:
        raise refused(problems)
    return whole(found)


def whole(declared: Iterable[EntityDeclaration]) -> Declaration:
    """Build one graph of these. InvalidEntities as `read` raises it: for what `Graph` refuses, and renames that make no sense."""
    every = list(declared)
    by_name: dict[str, EntityDeclaration] = {}
    for each in every:
        by_name.setdefault(each.name, each)
    problems = list(_renames(every, by_name))
    try:
        graph = Graph(each.entity for each in every)
    except InvalidEntities as wrong:
        texts, about = wrong.detail["problems"], wrong.detail["about"]
        if not isinstance(texts, list) or not isinstance(about, list):
            raise
        problems += [_placed(text, every, by_name, *where) for text, where in zip(texts, about, strict=True)]
    if problems:
        raise refused(problems)
    return Declaration(graph, by_name, tuple(sorted(_warnings(graph, by_name), key=lambda each: each[:3])))


def _problem(place: Place, message: str) -> Problem:
    return Problem(*place, message)


def _placed(
    text: str,
    every: Sequence[EntityDeclaration],
    by_name: Mapping[str, EntityDeclaration],
    name: str,
    state: str,
    place: int | None,
    row: Sequence[str],
) -> Problem:
    if not state and place is not None:
        first = by_name[name].place()
        where = f", the first time in {first.file}:{first.line}" if first.line else ""
        return _problem(every[place].place("entity"), f"{text}{where}")
    path: Path = ("states", state, place, *row) if place is not None else ("entity",)
    return _problem(by_name[name].place(*path), text)


def _renames(every: Sequence[EntityDeclaration], by_name: Mapping[str, EntityDeclaration]) -> Iterator[Problem]:
    taken: dict[str, EntityDeclaration] = {}
    for each in every:
        old = each.renamed_from
        if old in by_name:
            yield _problem(
                each.place("renamed_from"), f"entity {each.name!r}: renamed_from {old!r}, which is still declared"
            )
        elif old in taken:
            yield _problem(
                each.place("renamed_from"),
                f"entity {each.name!r}: renamed_from {old!r}, and so is {taken[old].name!r}; one of them is new",
            )
        if old:
            taken.setdefault(old, each)


def _needs(declared: EntityDeclaration) -> Iterator[tuple[Dependency, Place]]:
    for state, needs in declared.entity.states.items():
        for place, needed in enumerate(needs):
            yield needed, declared.place("states", state, place)


def _warnings(graph: Graph, by_name: Mapping[str, EntityDeclaration]) -> Iterator[Problem]:
    # Links of one meaning have one edge, and large declarations few meanings.
    across = functools.cache(overlapping)
    hopeless = functools.cache(lambda edge: first_full(edge) is None)
    for name, each in by_name.items():
        for link in graph.upstream(name):
            if link.edge is None or link.dependency is None:
                continue
            place = each.place("states", link.state, each.entity.states[link.state].index(link.dependency))
            if unlike := across(link.edge):
                one, other = unlike
                yield _problem(
                    place,
                    f"{link}: {_called(other)} do not fit into {_called(one)}: one that is in two of them is needed by both",
                )
            if waited_for(link) and hopeless(link.edge):
                yield _problem(place, f"{link}: no instance can ever be ready; each needs some that cannot be there")
        yield from _shared(each, by_name)


def _shared(each: EntityDeclaration, by_name: Mapping[str, EntityDeclaration]) -> Iterator[Problem]:
    """A transparent entity that points at nothing, or at several, is no alias of anything."""
    upstream = {needed.upstream for needed, _ in _needs(each)}
    if each.transparent and len(upstream) != 1:
        yield _problem(
            each.place("transparent"),
            f"entity {each.name!r} is transparent and depends on {len(upstream)} entities; what points at one is",
        )


def waited_for(link: Link) -> bool:
    """Return whether an instance is held back until all that it needs over this link exists."""
    needed = link.dependency
    if link.edge is None or needed is None or needed.optional or needed.group or needed.minimum:
        return False
    return needed.wait is None


def first_full(edge: Edge) -> int | None:
    """The first downstream instance that needs nothing that can never be; of `last_available` the first for which there may be any. None: none."""
    if edge.dates.meaning.newest:
        some = edge.affected(edge.upstream.all)
        return some.first if some else None
    return edge.first_complete()


def overlapping(edge: Edge) -> tuple[Calendar, Calendar] | None:
    """The window's calendar and the upstream's, where periods of the upstream lie across the bounds of windows though they are the shorter ones:
    weeks in months, hours of UTC in days of Kolkata. None if one fits into the other, and if dates are not about bounds.
    """
    meaning = edge.dates.meaning
    if meaning.steps or meaning.newest or meaning.strict or meaning.nothing:
        return None
    upstream = edge.upstream.calendar
    since = max(_from(edge.downstream.calendar, edge.downstream.first), _from(upstream, edge.upstream.first))
    for point in (meaning.start, meaning.end):
        if point is None or point.date is not None:
            continue
        calendar = edge.downstream.calendar if point.unit is None else edge.downstream.calendar.unit(point.unit)
        if meaning.start is not None and not nested(calendar, upstream, since):
            return calendar, upstream
    return None


_SINCE = 946_684_800  # 2000-01-01


def _from(calendar: Calendar, first: int | None) -> int:
    """Oddities of zones before the first record do not count."""
    return _SINCE if first is None else int(calendar.begins([first])[0])


@functools.lru_cache(maxsize=65_536)
def nested(one: Calendar, other: Calendar, since: int) -> bool:
    """Return whether each period of the longer of these calendars lies between bounds of the shorter, from an instant on."""
    if one == other:
        return True
    fine, coarse = sorted((one, other), key=lambda each: each.first - each.end)
    first = int(coarse.ceil(np.array([since]))[0])
    bounds = coarse.begins(np.arange(first, min(first + 10_000, coarse.end)))
    bounds = bounds[bounds <= int(fine.begins([fine.end])[0])]
    return bool(np.array_equal(fine.begins(fine.floor(bounds)), bounds))


def _called(calendar: Calendar) -> str:
    return f"periods of every {calendar.every_text} ({calendar.zone.name})"
