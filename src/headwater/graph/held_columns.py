"""Column edges in memory, beside the graph of datasets and jobs (`adjacency`): the walk of `graph.reach` over what is held, without a copy of it.

What is held is not checked here: the caller holds what PostgreSQL has, and removes what changed.
"""

import itertools
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from headwater.graph.adjacency import Link, Spot, Walked
from headwater.graph.explicit import feeds
from headwater.model.lineage import ColumnEdge, Origin, Transformation

# About the bytes that Python takes for an edge of columns and for a pair of a job and its target, besides what is encoded.
_LINK_BYTES, _BLOCK_BYTES = 350, 1000
# The same of what feeds one column, once that is held, and of each of its inputs.
_INPUTS_BYTES, _INPUT_BYTES = 300, 100
Column = tuple[Spot, str]


class ColumnLink:
    """A column feeds a column, in one or several ways. An empty field is the whole dataset. `body`: the encoded edge."""

    __slots__ = ("block", "body", "source", "source_field", "target_field", "ways")

    def __init__(self, block: "ColumnBlock", edge: ColumnEdge, source: Spot) -> None:
        self.block, self.source = block, source
        self.source_field, self.target_field = edge.source_field, edge.target_field
        self.ways: list[tuple[Origin, Transformation | None]] = []
        self.body: bytes | None = None


class ColumnBlock:
    """The columns by which a job feeds one target: a dataset, or the job itself. `into`: by the target's field; `out_of`: by source and its field.

    `complete`: what is held is all there is. `drawn`: a person drew some of it. `inputs`: what feeds a column, each with one transformation, once an
    answer has asked for it (`HeldColumns.hold_inputs`); not to be changed.
    """

    __slots__ = ("complete", "drawn", "inputs", "into", "job", "out_of", "target")

    def __init__(self, job: Spot, target: Spot, *, complete: bool) -> None:
        self.job, self.target, self.complete, self.drawn = job, target, complete, False
        self.into: dict[str, list[ColumnLink]] = {}
        self.out_of: dict[Spot, dict[str, list[ColumnLink]]] = {}
        self.inputs: dict[str, dict[Column, Transformation | None]] = {}

    def links(self) -> Iterator[ColumnLink]:
        return itertools.chain.from_iterable(self.into.values())

    def add(self, link: ColumnLink) -> None:
        self.into.setdefault(link.target_field, []).append(link)
        self.out_of.setdefault(link.source, {}).setdefault(link.source_field, []).append(link)

    def admitted(self, walked: Walked, *, explicit: bool) -> "ColumnBlock":
        """Return the block without edges from what a walk did not meet, and where `explicit` lineage counts, without those that it leaves out."""
        told = self.job.told if explicit else None
        if told is None and self.out_of.keys() <= walked.hops.keys():
            return self
        found = ColumnBlock(self.job, self.target, complete=True)
        for link in self.links():
            if link.source in walked.hops and (
                told is None or feeds(told, self.job.id, link.source.id, self.target.id)
            ):
                found.add(link)
        return found


class MissingColumns(NamedTuple):
    """Pairs of a job and its target whose columns a question needs and that are not held."""

    pairs: list[tuple[Spot, Spot]]


class HeldColumns:
    """The blocks that are held, by job and target."""

    def __init__(self) -> None:
        self.of_jobs: dict[Spot, dict[Spot, ColumnBlock]] = {}
        self._jobs_into: dict[Spot, set[Spot]] = {}
        self.blocks = self.links = self.encoded_bytes = 0

    @property
    def size(self) -> int:
        """About how many bytes they take."""
        return self.encoded_bytes + _LINK_BYTES * self.links + _BLOCK_BYTES * self.blocks

    def hold(
        self, job: Spot, target: Spot, edges: Iterable[ColumnEdge], sources: Mapping[uuid.UUID, Spot], *, complete: bool
    ) -> None:
        """Hold these as all column edges of a job into a target. `sources`: the nodes that they come from, by id."""
        block = ColumnBlock(job, target, complete=complete)
        found: dict[tuple[str, Spot, str], ColumnLink] = {}
        for edge in edges:
            source = sources[edge.source]
            key = edge.target_field, source, edge.source_field
            link = found.get(key)
            if link is None:
                link = found[key] = ColumnLink(block, edge, source)
                block.add(link)
            link.ways.append((edge.origin, edge.transformation))
            block.drawn = block.drawn or edge.origin == Origin.MANUAL
        self.of_jobs.setdefault(job, {})[target] = block
        self._jobs_into.setdefault(target, set()).add(job)
        self.blocks += 1
        self.links += len(found)

    def hold_body(self, link: ColumnLink, body: bytes) -> None:
        link.body = body
        self.encoded_bytes += len(body)

    def hold_inputs(self, block: ColumnBlock, field: str, inputs: dict[Column, Transformation | None]) -> None:
        block.inputs[field] = inputs
        self.encoded_bytes += _bytes_of(inputs)

    def drop(self, spots: Iterable[Spot]) -> None:
        """Drop the columns of these jobs, and those into these datasets."""
        for spot in spots:
            for target, block in self.of_jobs.pop(spot, {}).items():
                self._jobs_into[target].discard(spot)
                self._uncount(block)
            for job in self._jobs_into.pop(spot, ()):
                self._uncount(self.of_jobs[job].pop(spot))

    def _uncount(self, block: ColumnBlock) -> None:
        self.blocks -= 1
        for link in block.links():
            self.links -= 1
            self.encoded_bytes -= len(link.body or b"")
        self.encoded_bytes -= sum(map(_bytes_of, block.inputs.values()))


def _bytes_of(inputs: Mapping[Column, object]) -> int:
    return _INPUTS_BYTES + _INPUT_BYTES * len(inputs)


class WalkedColumns:
    """The column edges of a walk, both ways. Every pair of it has to be held (`missing`)."""

    def __init__(self, held: HeldColumns, walked: Walked) -> None:
        self._into: dict[Spot, list[ColumnBlock]] = {}
        self._out_of: dict[Spot, list[ColumnBlock]] = {}
        self.complete = True
        explicit = {link.job for link in walked.links if link.edge.explicit}
        pairs = written_pairs(walked.links)
        for job, target in pairs:
            block = held.of_jobs[job][target]
            self.complete = self.complete and block.complete
            if block.into and (block := block.admitted(walked, explicit=job in explicit)).into:
                self._into.setdefault(target, []).append(block)
                for source in block.out_of:
                    self._out_of.setdefault(source, []).append(block)
        # Columns that feed a job itself feed all that it writes without columns of its own.
        self._fed_by: dict[Spot, list[Spot]] = {}
        self._feeds: dict[Spot, list[Spot]] = {}
        for job, dataset in pairs:
            if job is dataset or job not in self._into:
                continue
            if all(block.job is not job for block in self._into.get(dataset, ())):
                self._fed_by.setdefault(dataset, []).append(job)
                self._feeds.setdefault(job, []).append(dataset)

    def names_at(self, spot: Spot) -> set[str]:
        """Return the columns of a node that edges name."""
        names = {field for block in self._into.get(spot, ()) for field in block.into}
        names.update(field for block in self._out_of.get(spot, ()) for field in block.out_of[spot])
        return names - {""}

    def all_links(self) -> list[ColumnLink]:
        return [link for blocks in self._into.values() for block in blocks for link in block.links()]

    def upstream(self, start: Column) -> tuple[dict[ColumnLink, None], set[Spot]]:
        """Return every edge on a way into the column, and every node met."""
        links: dict[ColumnLink, None] = {}
        met, queue = {start}, [start]
        for spot, field in queue:
            for block in self._into.get(spot, ()):
                for link in _of_field(block.into, field):
                    links[link] = None
                    column = (link.source, link.source_field)
                    if column not in met:
                        met.add(column)
                        queue.append(column)
            for job in self._fed_by.get(spot, ()):
                if (job, "") not in met:
                    met.add((job, ""))
                    queue.append((job, ""))
        return links, {spot for spot, _ in met}

    def downstream(self, start: Column) -> tuple[dict[ColumnLink, None], set[Spot]]:
        """Return every edge on a way out of the column, and every node met."""
        links: dict[ColumnLink, None] = {}
        met, queue = {start}, [start]
        for spot, field in queue:
            for block in self._out_of.get(spot, ()):
                for link in _of_field(block.out_of[spot], field):
                    links[link] = None
                    column = (block.target, link.target_field)
                    if column not in met:
                        met.add(column)
                        queue.append(column)
            for dataset in self._feeds.get(spot, ()):
                if (dataset, "") not in met:
                    met.add((dataset, ""))
                    queue.append((dataset, ""))
        return links, {spot for spot, _ in met}


def _of_field(some: Mapping[str, list[ColumnLink]], field: str) -> Iterable[ColumnLink]:
    """Return the edges at one end's field, and those of the whole dataset; of the whole dataset, all."""
    if not field:
        return itertools.chain.from_iterable(some.values())
    whole = some.get("")
    return itertools.chain(some.get(field, ()), whole) if whole else some.get(field, ())


def written_pairs(links: Iterable[Link]) -> dict[tuple[Spot, Spot], None]:
    """Return the pairs of a walk whose columns it shows: each job with what it writes, and with itself."""
    pairs: dict[tuple[Spot, Spot], None] = {}
    for link in links:
        job = link.job
        pairs[job, job] = None
        if link.source is job:
            pairs[job, link.target] = None
    return pairs


def missing(held: HeldColumns, links: Iterable[Link]) -> MissingColumns | None:
    """Return the pairs of a walk that are not held; None if all are."""
    none: dict[Spot, ColumnBlock] = {}
    pairs = [(job, target) for job, target in written_pairs(links) if target not in held.of_jobs.get(job, none)]
    return MissingColumns(pairs) if pairs else None
