"""The columns of entities that may be wrong because columns of other entities are: followed column by column over how
datasets are made.

A dataset that holds no entity is a step on the way, and is passed through. If the sources of a column are unknown, it
may be made from any column that was read: what is left out is certainly not affected. Columns are compared by name
without case; `address` and `address.zip` are in one another.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.needs.graph import Graph

Columns = frozenset[str]
"""Names as `named` has them. `ALL`: every column."""

Dataset = uuid.UUID

ALL: Columns = frozenset({"*"})
_NONE: Columns = frozenset()


def named(names: Iterable[str]) -> Columns:
    """Return the columns of names as people and events write them."""
    return frozenset(name.casefold() for name in names)


def both(one: Columns, other: Columns) -> Columns:
    """The columns of either."""
    return ALL if ALL in (one, other) else one | other


def meet(one: Columns, other: Columns) -> bool:
    """Return whether a column is one of the others, or in one of them."""
    if not one or not other:
        return False
    if ALL in (one, other) or one & other:
        return True
    return any(_within(each, among) for each in one for among in other)


class Way(NamedTuple):
    """One way in which versions of a dataset were made.

    fed: by dataset read and column of it (`""`: the dataset as a whole), the columns made from it (`""`: all of them).
    told: the columns whose sources are reported. columns: all columns; None if unknown.
    """

    fed: Mapping[Dataset, Mapping[str, Columns]]
    told: Columns
    columns: Columns | None

    def carried(self, read: Dataset, wrong: Columns) -> Columns:
        """The columns that may be wrong where these are of a dataset that was read."""
        if not wrong:
            return _NONE
        if self.columns is None:
            return ALL
        found = {name for name in self.columns if not any(_within(name, told) for told in self.told)}
        for column, made in self.fed.get(read, {}).items():
            if not column or meet(wrong, frozenset({column})):
                found |= made
        return ALL if "" in found else frozenset(found)


class JobColumns(NamedTuple):
    """The ways in which a job that reads a dataset writes another; no ways: none is known."""

    dataset: Dataset
    ways: Sequence[Way]


class Carried:
    """The spread of wrong columns from entities. Ask for `unknown` and `learn` it, until nothing is unknown; then read `settled`."""

    def __init__(
        self,
        graph: Graph,
        stored: Mapping[str, Sequence[Dataset]],
        wrong: Mapping[str, Columns],
        *,
        onward: bool = True,
    ) -> None:
        """Begin at the `wrong` columns. stored: the datasets that hold an entity. `onward` False: follow the data of
        these entities, and no further."""
        self._graph, self._stored, self._onward = graph, stored, onward
        self._homes: dict[Dataset, list[str]] = {}
        for entity, datasets in stored.items():
            for dataset in datasets:
                self._homes.setdefault(dataset, []).append(entity)
        self.columns: dict[str, Columns] = {}
        self._at: dict[tuple[str, Dataset], Columns] = {}
        self._flows: dict[tuple[str, str], Columns] = {}
        self._made: dict[Dataset, Sequence[JobColumns]] = {}
        self._waiting: list[tuple[str, Dataset]] = []
        for entity, columns in wrong.items():
            self._spoil(entity, columns)

    @property
    def seen(self) -> int:
        """The number of datasets for which it is known what is made from them."""
        return len(self._made)

    def unknown(self) -> set[Dataset]:
        """Return the datasets whose downstream columns are still needed; empty when all were passed to `learn`."""
        while True:
            self._walk()
            if self._waiting:
                return {dataset for _, dataset in self._waiting}
            before = dict(self.columns)
            links = [(name, link.downstream) for name in before for link in self._graph.downstream(name)]
            # All as far as it was walked: what is declared counts less than what was seen.
            used = [(downstream, self._used(upstream, downstream)) for upstream, downstream in links if self._onward]
            for downstream, columns in used:
                self._spoil(downstream, columns)
            if before == self.columns:
                return set()

    def learn(self, made: Mapping[Dataset, Sequence[JobColumns]]) -> None:
        """Add what is made from the unknown datasets; nothing is made from one that is not in the mapping."""
        for dataset in self.unknown():
            self._made[dataset] = made.get(dataset, ())

    def unaffected(self) -> set[tuple[str, str]]:
        """The (upstream, downstream) between which no wrong column is carried, of those that depend on one another or were seen to."""
        pairs = {(name, link.downstream) for name in self.columns for link in self._graph.downstream(name)}
        return {pair for pair in pairs | self._flows.keys() if not self._used(*pair)}

    def _spoil(self, entity: str, columns: Columns) -> None:
        now = both(self.columns.get(entity, _NONE), columns)
        if now and now != self.columns.get(entity):
            self.columns[entity] = now
            for dataset in self._stored.get(entity, ()):
                self._at[entity, dataset] = now
                self._waiting.append((entity, dataset))

    def _walk(self) -> None:
        """Follow the columns as far as it is known what is made from them."""
        held: list[tuple[str, Dataset]] = []
        while self._waiting:
            origin, dataset = self._waiting.pop()
            if dataset not in self._made:
                held.append((origin, dataset))
                continue
            wrong = self._at[origin, dataset]
            for other, ways in self._made[dataset]:
                carried = ALL if wrong and not ways else _NONE
                for way in ways:
                    carried = both(carried, way.carried(dataset, wrong))
                for entity in self._homes.get(other, ()):
                    self._flows[origin, entity] = both(self._flows.get((origin, entity), _NONE), carried)
                    if self._onward:
                        self._spoil(entity, carried)
                if other not in self._homes:
                    now = both(self._at.get((origin, other), _NONE), carried)
                    if now != self._at.get((origin, other)):
                        self._at[origin, other] = now
                        self._waiting.append((origin, other))
        self._waiting = held

    def _used(self, upstream: str, downstream: str) -> Columns:
        """The columns of one that may be wrong because of those of the other: as it was seen, or declared where it was not."""
        seen = self._flows.get((upstream, downstream))
        declared = self._declared(upstream, downstream)
        if seen is None:
            return ALL if declared is None or meet(self.columns[upstream], declared) else _NONE
        if seen or declared is None or not meet(self.columns[upstream], declared):
            return seen
        return ALL

    def _declared(self, upstream: str, downstream: str) -> Columns | None:
        """Return the columns that it is declared to use; None if that is not declared."""
        found = _NONE
        links = [link for link in self._graph.downstream(upstream) if link.downstream == downstream]
        for link in links:
            if link.dependency is None or link.instead or not link.dependency.columns:
                return None
            found |= named(link.dependency.columns)
        return found if links else None


def _within(one: str, other: str) -> bool:
    return one == other or one.startswith(other + ".") or other.startswith(one + ".")


def unknown(columns: Columns, known: Columns) -> Iterator[str]:
    """Yield those of the columns that meet none of the known ones."""
    return (name for name in sorted(columns) if not meet(frozenset({name}), known))
