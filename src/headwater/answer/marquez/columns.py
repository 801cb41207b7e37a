"""The columns that feed columns: evidence of many datasets as a graph of fields that is walked in memory, both ways.
Pure.

What feeds a dataset as a whole (a join key, a filter) feeds each of its columns here, for Marquez knows columns only.
Datasets are numbers while the walk lasts: a number is looked up many times faster than an id.
"""

import uuid
from collections.abc import Hashable, Iterable, Mapping
from typing import Protocol, TypeVar

from headwater.model.lineage import Transformation
from headwater.store.lineage.column_evidence import Evidence, FieldSet

FieldKey = tuple[int, str]
Inputs = dict[FieldKey, Transformation | None]
P = TypeVar("P", bound=Hashable)
"""A dataset, as a graph of fields has it."""


class Fields(Protocol[P]):
    """A graph of fields that is walked."""

    def number(self, dataset: uuid.UUID) -> P:
        """Return the dataset with this id."""

    def fields(self, number: P) -> list[str]:
        """Return every known column of a dataset."""

    def inputs(self, field: tuple[P, str]) -> dict[tuple[P, str], Transformation | None]:
        """Return the inputs of a column, each with one transformation."""

    def outputs(self, field: tuple[P, str]) -> set[tuple[P, str]]:
        """Return the columns that a column feeds."""


class FieldGraph:
    """`fields`: columns that datasets have by their schema, where the evidence does not name them. `datasets`: the id of each number."""

    def __init__(self, evidence: Evidence, fields: Mapping[uuid.UUID, Iterable[str]]) -> None:
        self.datasets: list[uuid.UUID] = []
        self._numbers: dict[uuid.UUID, int] = {}
        self._told_fields = fields
        self._sets: dict[int, list[tuple[FieldSet, list[int]]]] = {}
        self._readers: dict[int, list[tuple[int, FieldSet, int]]] = {}
        for target, sets in evidence.sets.items():
            number = self.number(target)
            mine = self._sets.setdefault(number, [])
            for one in sets:
                sources = [self.number(evidence.canonical.get(source) or source) for source in one.sources]
                mine.append((one, sources))
                for place, source in enumerate(sources):
                    self._readers.setdefault(source, []).append((number, one, place))

    def number(self, dataset: uuid.UUID) -> int:
        found = self._numbers.get(dataset)
        if found is None:
            found = self._numbers[dataset] = len(self.datasets)
            self.datasets.append(dataset)
        return found

    def fields(self, number: int) -> list[str]:
        """Return every known column of a dataset: of its schema, or as the target of evidence."""
        told = {field for one, _ in self._sets.get(number, ()) for field in one.feeds if field}
        return sorted(told.union(self._told_fields.get(self.datasets[number], ())))

    def inputs(self, field: FieldKey) -> Inputs:
        """The inputs of a column. An input with several transformations is listed with a DIRECT one, if any."""
        found: Inputs = {}
        for one, sources in self._sets.get(field[0], ()):
            for place, name, how in (*one.feeds.get(field[1], ()), *one.feeds.get("", ())):
                if name:
                    key = (sources[place], name)
                    if key not in found or rank(how) < rank(found[key]):
                        found[key] = how
        return found

    def outputs(self, field: FieldKey) -> set[FieldKey]:
        """Return the columns that a column feeds."""
        found: set[FieldKey] = set()
        for target, one, place in self._readers.get(field[0], ()):
            for name in one.fed[place].get(field[1], ()):
                if name:
                    found.add((target, name))
                else:
                    found.update((target, each) for each in self.fields(target))
        return found


def rank(how: Transformation | None) -> tuple[int, str, str, bool, str]:
    """Return the place of a transformation among those of one input, of which the first is shown.

    An input without a transformation is one whose value flows, for all that its producer says: before what decides about rows.
    """
    if how is None:
        return 1, "", "", False, ""
    return 0 if how.type == "DIRECT" else 2, how.type, how.subtype, how.masking, how.description or ""


def upstream(
    graph: Fields[P], roots: Iterable[tuple[P, str]], depth: int
) -> dict[tuple[P, str], dict[tuple[P, str], Transformation | None]]:
    """Return the columns within so many steps above the roots, with what feeds each; those at which the walk ends
    appear only as sources of others."""
    edges: dict[tuple[P, str], dict[tuple[P, str], Transformation | None]] = {}
    front = set(roots)
    for _ in range(depth):
        following: set[tuple[P, str]] = set()
        for field in front:
            edges[field] = graph.inputs(field)
            following.update(edges[field])
        front = following - edges.keys()
        if not front:
            break
    return edges


def downstream(
    graph: Fields[P], roots: Iterable[tuple[P, str]], depth: int
) -> dict[tuple[P, str], dict[tuple[P, str], Transformation | None]]:
    """Return the columns within so many steps below the roots, each with those of its inputs through which the walk came."""
    edges: dict[tuple[P, str], dict[tuple[P, str], Transformation | None]] = {}
    fed_by: dict[tuple[P, str], dict[tuple[P, str], Transformation | None]] = {}
    seen = set(roots)
    front = set(seen)
    for _ in range(depth):
        following: set[tuple[P, str]] = set()
        for field in front:
            for target in graph.outputs(field):
                if target not in fed_by:
                    fed_by[target] = graph.inputs(target)
                edges.setdefault(target, {})[field] = fed_by[target].get(field)
                following.add(target)
        front = following - seen
        seen |= front
        if not front:
            break
    return edges


def transformation_type(how: Transformation | None) -> str | None:
    """Return Marquez's one word for a transformation: MASKED, or the subtype, or the type."""
    if how is None:
        return None
    return "MASKED" if how.masking else how.subtype or how.type or None
