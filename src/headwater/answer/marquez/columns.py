"""Which columns feed which: evidence of many datasets as a graph of fields that is walked in memory, both ways. Pure.

What feeds a dataset as a whole (a join key, a filter) feeds each of its columns here, for Marquez knows columns only.
"""

import uuid
from collections.abc import Iterable, Mapping

from headwater.model.lineage import Transformation
from headwater.store.column_evidence import Evidence, FieldSet

FieldKey = tuple[uuid.UUID, str]
Inputs = dict[FieldKey, Transformation | None]


class FieldGraph:
    """`fields`: columns that datasets have by their schema, where the evidence does not name them."""

    def __init__(self, evidence: Evidence, fields: Mapping[uuid.UUID, Iterable[str]]) -> None:
        self._evidence, self._fields = evidence, fields
        self._readers: dict[uuid.UUID, list[tuple[uuid.UUID, FieldSet, uuid.UUID]]] | None = None

    def fields(self, dataset: uuid.UUID) -> list[str]:
        """Every column known of a dataset: of its schema, or as the target of evidence."""
        told = {field for one in self._evidence.sets.get(dataset, ()) for field in one.feeds if field}
        return sorted(told.union(self._fields.get(dataset, ())))

    def inputs(self, field: FieldKey) -> Inputs:
        """What feeds a column. Of several ways it is fed by one column, a DIRECT one is told."""
        found: Inputs = {}
        canonical = self._evidence.canonical
        for one in self._evidence.sets.get(field[0], ()):
            for source, name, how in (*one.feeds.get(field[1], ()), *one.feeds.get("", ())):
                if name:
                    key = (canonical.get(source, source), name)
                    if key not in found or _rank(how) < _rank(found[key]):
                        found[key] = how
        return found

    def outputs(self, field: FieldKey) -> set[FieldKey]:
        """What a column feeds."""
        found: set[FieldKey] = set()
        for target, one, told in self._by_source().get(field[0], ()):
            for name in one.fed[told].get(field[1], ()):
                found.update([(target, name)] if name else [(target, each) for each in self.fields(target)])
        return found

    def _by_source(self) -> dict[uuid.UUID, list[tuple[uuid.UUID, FieldSet, uuid.UUID]]]:
        if self._readers is None:
            self._readers = {}
            for target, sets in self._evidence.sets.items():
                for one in sets:
                    for told in one.fed:
                        source = self._evidence.canonical.get(told, told)
                        self._readers.setdefault(source, []).append((target, one, told))
        return self._readers


def _rank(how: Transformation | None) -> tuple[bool, bool]:
    return (how is None, how is not None and how.type != "DIRECT")


def upstream(graph: FieldGraph, roots: Iterable[FieldKey], depth: int) -> dict[FieldKey, Inputs]:
    """Columns within so many steps above the roots, with what feeds each; those the walk ends at are only in what feeds others."""
    edges: dict[FieldKey, Inputs] = {}
    front = set(roots)
    for _ in range(depth):
        following: set[FieldKey] = set()
        for field in front:
            edges[field] = graph.inputs(field)
            following.update(edges[field])
        front = following - edges.keys()
        if not front:
            break
    return edges


def downstream(graph: FieldGraph, roots: Iterable[FieldKey], depth: int) -> dict[FieldKey, Inputs]:
    """Columns within so many steps below the roots, each with those of its inputs that the walk came by."""
    edges: dict[FieldKey, Inputs] = {}
    seen = set(roots)
    front = set(seen)
    for _ in range(depth):
        following: set[FieldKey] = set()
        for field in front:
            for target in graph.outputs(field):
                edges.setdefault(target, {})[field] = graph.inputs(target).get(field)
                following.add(target)
        front = following - seen
        seen |= front
        if not front:
            break
    return edges


def told_type(how: Transformation | None) -> str | None:
    """Marquez's one word for a transformation: MASKED, or the subtype, or the type."""
    if how is None:
        return None
    return "MASKED" if how.masking else how.subtype or how.type or None
