"""The reads of versions, over all entities at once: which versions used what is declared, and which did not, or used
more.

The record of most versions says what the declaration says. They are followed over their links, as if nothing were
recorded, which is fast because links that mean the same are followed once; only differences are followed row by row.
Instances that do not exist are left out of the comparison.

A record about an instance that had only one version is about that version, whenever it was read: reports come in any
order.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from headwater.entities.needs.graph import Graph, Link
from headwater.entities.status.entity_sets import Together, counted
from headwater.entities.status.histories import Histories, Readers
from headwater.entities.time.ordinals import Bool, Int, Ordinals
from headwater.entities.time.pieces import cut, ranges


class Versions(NamedTuple):
    """Versions as columns: one row for each run of instances of an entity, by rank. Ordered by `produced`, then `seq`.

    complete: all that it read is recorded. content: equal numbers are equal contents, -1: unknown.
    """

    entity: Int
    seq: Int
    start: Int
    end: Int
    produced: Int
    complete: Bool
    content: Int


class Reads(NamedTuple):
    """Reads as columns: what the version `seq` had read, instances of an upstream, by rank, as they were at `read_seq`.
    No two rows of a version overlap."""

    seq: Int
    upstream: Int
    start: Int
    end: Int
    read_seq: Int


class RecordedHistories(NamedTuple):
    """`there`: existing instances, as `Together` counts them: those reported, and those with a version. `beyond`: instances outside of what was given
    that were made together with others, from undeclared inputs, so it is unknown for which of them it was.
    """

    histories: Histories
    there: Ordinals
    beyond: Ordinals


class _Meant(NamedTuple):
    """A link, the rank of its upstream, and which of the pieces are its downstream's."""

    link: Link
    upstream: int
    low: int
    high: int


def histories(
    graph: Graph, all_: Together, there: Ordinals, within: Mapping[str, Ordinals], versions: Versions, reads: Reads
) -> RecordedHistories:
    """`there`: what exists or is deleted, as `all_` counts it. `within`: the entities and instances for which all rows are passed."""
    found = _Recorded(graph, all_, there, within, versions, reads)
    return RecordedHistories(found.histories(), found.there, found.beyond)


class _Recorded:
    def __init__(
        self,
        graph: Graph,
        all_: Together,
        there: Ordinals,
        within: Mapping[str, Ordinals],
        versions: Versions,
        reads: Reads,
    ) -> None:
        self._graph, self._all, self._versions = graph, all_, versions
        order = np.lexsort((reads.start, reads.upstream, reads.seq))
        self._reads = Reads(*(column[order] for column in reads))
        self._key = self._numbered()
        first, end = np.zeros(len(all_.names), dtype=np.int64), np.zeros(len(all_.names), dtype=np.int64)
        for name, some in within.items():
            if some:
                first[all_.rank[name]], end[all_.rank[name]] = some.first, some.end
        of = versions.entity
        start, stop = np.maximum(versions.start, first[of]), np.minimum(versions.end, end[of])
        self._pieces = cut(
            all_.at(of, start), all_.at(of, np.maximum(start, stop)), versions.produced, versions.seq, versions.content
        )
        self._pieces = self._pieces.where(self._pieces.start < self._pieces.end)
        self.there = there | Ordinals.joined(self._pieces.start, self._pieces.end)
        self._known = self._pieces.where(self._pieces.current & versions.complete[self._pieces.row])
        self._several = self._pieces.where(self._pieces.current & (self._pieces.since > 0))
        self._cuts: dict[int, Ordinals] = {}
        self._first, self._end = first, end
        self.beyond = Ordinals()

    def _numbered(self) -> Int:
        """Return for each read a number that grows with the rows, by version and upstream."""
        seq = self._reads.seq
        self._seqs = seq[np.append(True, seq[1:] != seq[:-1])[: seq.size]]
        return self._of(self._reads.seq, self._reads.upstream)

    def _of(self, seq: Int, upstream: Int) -> Int:
        place = np.searchsorted(self._seqs, seq)
        known = place < self._seqs.size
        known[known] = self._seqs[place[known]] == seq[known]
        found: Int = np.where(known, place * len(self._all.names) + upstream, -1)
        return found

    def histories(self) -> Histories:
        apart = self._all.apart
        known = Ordinals.joined(self._known.start, self._known.end)
        past = self._pieces.where(~self._pieces.current)
        again = past.where(np.append(False, past.start[1:] == past.start[:-1])[: past.start.size])
        past = past.where(~self._versions.complete[past.row])
        there = apart(self.there)
        plain = self._plain(there)
        return Histories(
            self._graph,
            self._all.names,
            there,
            self._cuts,
            apart(self.there - known),
            apart(Ordinals.joined(past.start, past.end)),
            apart(Ordinals.joined(again.start, again.end)),
            self._readers(plain),
        )

    def _plain(self, there: Mapping[str, Ordinals]) -> Bool:
        """Return for each read whether its version used the upstream as declared. The links of the others are cut."""
        versions, reads = self._versions, self._reads
        plain = np.zeros(reads.seq.size, dtype=np.bool_)
        one = _times(versions.seq)[self._known.row] == 1
        for meaning, links in self._links(there).items():
            many = np.array([each.high - each.low for each in links])
            place = np.repeat(np.arange(len(links)), many)
            piece = ranges(np.array([each.low for each in links]), np.array([each.high for each in links]))
            upstream = np.array([each.upstream for each in links])[place]
            row = self._known.row[piece]
            low, high, same = self._needed(meaning, links[0].link, row)
            same &= one[piece]
            key = self._of(versions.seq[row], upstream)
            begin, end = np.searchsorted(self._key, key, "left"), np.searchsorted(self._key, key, "right")
            pair, read = np.repeat(np.arange(piece.size), end - begin), ranges(begin, end)
            of, first, stop = upstream[pair], reads.start[read], reads.end[read]
            inside = self._count(of, np.maximum(first, low[pair]), np.minimum(stop, high[pair]))
            wrong = (self._count(of, first, stop) != inside) | self._outdated(of, first, stop, reads.read_seq[read])
            same &= np.bincount(pair, inside, piece.size) == self._count(upstream, low, high)
            same &= np.bincount(pair, wrong, piece.size) == 0
            plain[read[same[pair]]] = True
            self._cut(links, place[~same], piece[~same])
        return plain

    def _links(self, there: Mapping[str, Ordinals]) -> dict[int | None, list[_Meant]]:
        """Links to what is there, those that mean the same together. A record says of an upstream what was read, not for which of several links that
        mean different things: those, and links without dates, are None.
        """
        found: dict[int | None, list[_Meant]] = {}
        rank = self._versions.entity[self._known.row]
        bounds = np.flatnonzero(np.diff(rank, prepend=-1, append=-1)).tolist()  # pieces are in the order of ranks
        for low, high in itertools.pairwise(bounds):
            name = self._all.names[int(rank[low])]
            links = [link for link in self._graph.upstream(name) if link.upstream in there]
            means: dict[str, set[int | None]] = {}
            for link in links:
                means.setdefault(link.upstream, set()).add(_meaning(link))
            for link in links:
                (first, *more) = means[link.upstream]
                meant = _Meant(link, self._all.rank[link.upstream], low, high)
                found.setdefault(None if more else first, []).append(meant)
        return found

    def _needed(self, meaning: int | None, link: Link, row: Int) -> tuple[Int, Int, Bool]:
        """Return what these versions need over a link of this meaning, and whether that is certainly all."""
        start, end = self._versions.start[row], self._versions.end[row]
        if meaning is None:
            return start, start, np.zeros(row.size, dtype=np.bool_)
        if link.edge is not None:
            return link.edge.hulls(start, end)
        # Carried on: the one before that is there, and of several that were made in one go each but the last.
        before = self._all.at(self._versions.entity[row], start)
        run = np.searchsorted(self.there.starts, before, "left") - 1
        last = np.minimum(self.there.ends[run], before) - 1
        rank, ordinal = self._all.ordinals(last)
        some = (run >= 0) & (rank == self._versions.entity[row])
        return np.where(some, ordinal, start), end - 1, np.ones(row.size, dtype=np.bool_)

    def _count(self, rank: Int, low: Int, high: Int) -> Int:
        """Return how many instances exist from low to high."""
        at = self._all.at
        found: Int = counted(self.there, at(rank, np.maximum(low, high))) - counted(self.there, at(rank, low))
        return found

    def _outdated(self, rank: Int, low: Int, high: Int, read_seq: Int) -> Bool:
        """Return whether any instance from low to high has been made again with other content since it was read."""
        found = np.zeros(rank.size, dtype=np.bool_)
        since = self._several.since
        first = np.searchsorted(self._several.end, self._all.at(rank, low), "right")
        end = np.searchsorted(self._several.start, self._all.at(rank, high), "left")
        many, width = end - first, 1
        while since.size and (many >= width).any():
            # `since` is the greatest of so many in a row by now: two such rows make up any that is up to twice as long.
            some = (many >= width) & (many < 2 * width)
            last = np.maximum(since[first[some]], since[end[some] - width])
            found[some] = last > read_seq[some]
            since = np.maximum(since[:-width], since[width:])
            width *= 2
        return found

    def _cut(self, links: list[_Meant], place: Int, piece: Int) -> None:
        bounds = np.flatnonzero(np.diff(place, prepend=-1, append=-1)).tolist()
        for low, high in itertools.pairwise(bounds):
            some = piece[low:high]
            start = self._all.ordinals(self._known.start[some])[1]
            link = links[int(place[low])].link
            self._cuts[id(link)] = Ordinals.joined(start, start + self._known.end[some] - self._known.start[some])

    def _readers(self, plain: Bool) -> dict[tuple[str, bool], Readers]:
        """Return all reads but the plain ones, by upstream and whether its version is past now."""
        versions, reads = self._versions, self._reads
        pieces = self._pieces.where(versions.complete[self._pieces.row])
        seq = versions.seq[pieces.row]
        begin, end = np.searchsorted(reads.seq, seq, "left"), np.searchsorted(reads.seq, seq, "right")
        piece, read = np.repeat(np.arange(seq.size), end - begin), ranges(begin, end)
        some = (~pieces.current[piece] | ~plain[read]) & (
            self._count(reads.upstream[read], reads.start[read], reads.end[read]) > 0
        )
        piece, read = piece[some], read[some]
        rank = versions.entity[pieces.row[piece]]
        _, start = self._all.ordinals(pieces.start[piece])
        together, least, most = self._explained(pieces.row[piece], reads.upstream[read])
        some = ~together | (reads.start[read] < least) | (reads.end[read] > most)
        self.beyond = self._outside(pieces.row[piece[some]])
        rows = Readers(
            rank,
            start,
            start + pieces.end[piece] - pieces.start[piece],
            ~pieces.current[piece],
            reads.start[read],
            reads.end[read],
            together,
            least,
            most,
        )
        found: dict[tuple[str, bool], Readers] = {}
        for past, some_rows, upstream in self._as_read(rows, reads.upstream[read], reads.read_seq[read]):
            order = np.argsort(upstream, kind="stable")
            bounds = np.flatnonzero(np.diff(upstream[order], prepend=-1, append=-1)).tolist()
            for low, high in itertools.pairwise(bounds):
                name = self._all.names[int(upstream[order[low]])]
                found[name, past] = some_rows.where(order[low:high])
        return found

    def _outside(self, row: Int) -> Ordinals:
        """The instances of these versions of which nothing was given."""
        of, start, end = (column[row] for column in (self._versions.entity, self._versions.start, self._versions.end))
        first, last = np.minimum(self._first[of], end), np.maximum(self._end[of], start)
        at = self._all.at
        before = Ordinals.joined(at(of, start), at(of, np.maximum(start, first)))
        return before | Ordinals.joined(at(of, np.minimum(last, end)), at(of, end))

    def _explained(self, row: Int, upstream: Int) -> tuple[Bool, Int, Int]:
        """Return whether dates say for which of several instances each of these versions read an upstream, and the
        range of the upstream that the dates cover."""
        versions = self._versions
        together = versions.end[row] - versions.start[row] > 1
        least, most = np.zeros(row.size, dtype=np.int64), np.zeros(row.size, dtype=np.int64)
        several = np.flatnonzero(together)
        pairs, which = np.unique(
            versions.entity[row[several]] * len(self._all.names) + upstream[several], return_inverse=True
        )
        for place, pair in enumerate(pairs.tolist()):
            name, other = (self._all.names[each] for each in divmod(pair, len(self._all.names)))
            edges = {id(link.edge): link.edge for link in self._graph.upstream(name) if link.upstream == other}
            some = several[which == place]
            if len(edges) != 1 or None in edges.values():
                together[some] = False
                continue
            (edge,) = edges.values()
            assert edge is not None
            low, high, whole = edge.hulls(versions.start[row[some]], versions.end[row[some]])
            together[some], least[some], most[some] = whole, low, high
        return together, least, most

    def _as_read(self, rows: Readers, upstream: Int, read_seq: Int) -> Iterable[tuple[bool, Readers, Int]]:
        """Yield the rows split by what was read: versions that are past by now (True), then current ones (False)."""
        several = self._several
        low, high = self._all.at(upstream, rows.low), self._all.at(upstream, rows.high)
        first = np.searchsorted(several.end, low, "right")
        end = np.searchsorted(several.start, high, "left")
        row, piece = np.repeat(np.arange(rows.rank.size), np.maximum(end - first, 0)), ranges(first, end)
        gone = read_seq[row] < several.since[piece]
        row, piece = row[gone], piece[gone]
        past = rows.where(row)
        starts, ends = np.maximum(several.start[piece], low[row]), np.minimum(several.end[piece], high[row])
        _, begin = self._all.ordinals(starts)
        yield True, past._replace(low=begin, high=begin + ends - starts), upstream[row]
        # The rest of a row without these; a read before the first record may have been of any version.
        lost = several.first[piece] <= read_seq[row]
        row, starts, ends = row[lost], starts[lost], ends[lost]
        whole = np.ones(rows.rank.size, dtype=np.bool_)
        whole[row] = False
        bounds = np.flatnonzero(np.diff(row, prepend=-1, append=-1)).tolist()
        rests = [
            (int(row[at]), start, stop)
            for at, after in itertools.pairwise(bounds)
            for start, stop in Ordinals.between(int(low[row[at]]), int(high[row[at]]))
            - Ordinals.joined(starts[at:after], ends[at:after])
        ]
        numbers = np.array(rests, dtype=np.int64).reshape(-1, 3)
        rest = rows.where(numbers[:, 0])
        _, begin = self._all.ordinals(numbers[:, 1])
        rest = rest._replace(low=begin, high=begin + numbers[:, 2] - numbers[:, 1])
        current = Readers._make(np.concatenate(pair) for pair in zip(rows.where(whole), rest, strict=True))
        yield False, current, np.concatenate((upstream[whole], upstream[numbers[:, 0]]))


_CARRIED = -1


def _meaning(link: Link) -> int | None:
    if link.carried:
        return _CARRIED
    return None if link.edge is None else id(link.edge)


def _times(seq: Int) -> Int:
    """Return how often each is there."""
    order = np.sort(seq)
    found: Int = np.searchsorted(order, seq, "right") - np.searchsorted(order, seq, "left")
    return found
