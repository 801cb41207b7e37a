"""The histories of instances, version by version, for `propagation.py`. `recorded_reads.py` builds them from records.

A version of an instance is the current one, or it is past. The record of a reader does not distinguish several past versions.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headwater.entities.needs.graph import Graph
from headwater.entities.time.ordinals import Bool, Int, Ordinals


class Readers(NamedTuple):
    """The readers of one upstream, row by row. Instances start ≤ k < end of the entity with this `rank`, by a past version of theirs or the
    current one, read low ≤ u < high.

    together: they were made in one go, and each used what is declared that it needs of the upstream. All of them need least ≤ u < most: of what they
    read besides is not recorded for each of them. Otherwise each used all.
    """

    rank: Int
    start: Int
    end: Int
    past: Bool
    low: Int
    high: Int
    together: Bool
    least: Int
    most: Int

    def where(self, some: Bool | Int) -> "Readers":
        """Return only these rows."""
        return Readers._make(column[some] for column in self)


class Histories(NamedTuple):
    """The histories of all entities of a graph; `names` by rank.

    there: what exists, or did and is deleted. cuts: by `id()` of a link the instances whose current version did not use it as it is declared; all
    others did, or may have. unrecorded, past: the instances of whose current version, or of a past one, it is not known what it used. several: those
    with more than one past version. readers: by upstream, and whether it was a past version, who read it and is cut, or past.
    """

    graph: Graph
    names: tuple[str, ...]
    there: Mapping[str, Ordinals]
    cuts: Mapping[int, Ordinals]
    unrecorded: Mapping[str, Ordinals]
    past: Mapping[str, Ordinals]
    several: Mapping[str, Ordinals]
    readers: Mapping[tuple[str, bool], Readers]

    @classmethod
    def unknown(cls, graph: Graph, there: Mapping[str, Ordinals]) -> "Histories":
        """Return histories without any record: what is declared counts."""
        return cls(graph, tuple(graph.entities), there, {}, there, {}, {}, {})
