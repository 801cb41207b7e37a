"""Load existing instances and the versions they read from the database, limited to those that a question can reach."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status import recorded_reads
from headwater.entities.status.entity_sets import Together
from headwater.entities.status.histories import Histories
from headwater.entities.status.taint import closure
from headwater.entities.time.ordinals import NONE, Int, Ordinals
from headwater.store.database import Connection
from headwater.store.status import histories as store
from headwater.store.status.status import Window

LOOKED_AT = 2_000_000
"""The most versions whose recorded reads are loaded, about 200 bytes each. With more versions, the declared needs are used."""


class Loaded(NamedTuple):
    """`gone`: the instances in the histories that no longer exist."""

    histories: Histories
    gone: dict[str, Ordinals]


async def reached(connection: Connection, held: StoredDeclarations, roots: Mapping[str, Ordinals]) -> Loaded:
    """Load everything that these instances could have reached: the entities that declare a need, and the recorded readers without one."""
    within = await asyncio.to_thread(closure, held.graph, roots)
    while True:
        loaded, beyond, readers = await _load(connection, held, within)
        more = dict(beyond)
        for entity_id, start, end in await store.version_instances(connection, readers) if readers.size else ():
            if entity_id in held.names:
                name = held.names[entity_id]
                more[name] = more.get(name, NONE) | Ordinals.between(start, end)
        if not more:
            return loaded
        more = await asyncio.to_thread(closure, held.graph, more)
        within = {name: within.get(name, NONE) | more.get(name, NONE) for name in {**within, **more}}


async def among(connection: Connection, held: StoredDeclarations, within: Mapping[str, Ordinals]) -> Histories:
    """Load these instances only."""
    loaded, _, _ = await _load(connection, held, within)
    return loaded.histories


async def _load(
    connection: Connection, held: StoredDeclarations, within: Mapping[str, Ordinals]
) -> tuple[Loaded, Mapping[str, Ordinals], Int]:
    """Load the hulls of these instances. Also returns their users outside the hulls: instances, and versions by seq."""
    hulls = {name: Ordinals.between(some.first, some.end) for name, some in within.items() if some}
    windows: Sequence[Window] = [(held.number(name), some.first, some.end) for name, some in sorted(hulls.items())]
    there = await store.there(connection, windows)
    versions = await store.versions(connection, windows, LOOKED_AT + 1)
    if versions.seq.size > LOOKED_AT:
        versions = store.Versions(*(column[:0] for column in versions))
    reads = await store.reads(connection, windows) if versions.seq.size else None
    return await asyncio.to_thread(_build, held, hulls, there, versions, reads)


def _build(
    held: StoredDeclarations,
    hulls: Mapping[str, Ordinals],
    there: store.There,
    versions: store.Versions,
    reads: store.Reads | None,
) -> tuple[Loaded, Mapping[str, Ordinals], Int]:
    all_ = Together(held.graph.entities)
    rank = _Ranks(held, all_)
    every = all_.union(hulls)
    start, end = all_.at(rank(there.entity_id), there.start_), all_.at(rank(there.entity_id), there.end_)
    alive = there.state > 0
    exist = Ordinals.joined(start[alive], end[alive]) & every
    some = exist if alive.all() else Ordinals.joined(start, end) & every
    if reads is None:
        unknown = Histories.unknown(held.graph, all_.apart(some))
        return Loaded(unknown, all_.apart(some - exist)), {}, np.zeros(0, dtype=np.int64)
    made = recorded_reads.Versions(
        rank(versions.entity_id),
        versions.seq,
        versions.start_,
        versions.end_,
        versions.produced,
        versions.complete > 0,
        # A hash; its sign is not needed.
        np.where(versions.told > 0, versions.content & ((1 << 62) - 1), -1),
    )
    read = recorded_reads.Reads(reads.seq, rank(reads.upstream_id), reads.start_, reads.end_, reads.read_seq)
    found = recorded_reads.histories(held.graph, all_, some, hulls, made, read)
    loaded = Loaded(found.histories, all_.apart(found.there - exist))
    return loaded, all_.apart(found.beyond), _besides(reads.seq, versions.seq)


def _besides(some: Int, known: Int) -> Int:
    """The distinct values of `some` that are not in `known`."""
    some, known = np.sort(some), np.sort(known)
    some = some[np.append(True, some[1:] != some[:-1])[: some.size]]
    found: Int = some[np.searchsorted(known, some, "left") == np.searchsorted(known, some, "right")]
    return found


class _Ranks:
    """The rank of each entity by its id. All of them are declared."""

    def __init__(self, held: StoredDeclarations, all_: Together) -> None:
        pairs = sorted((number, all_.rank[name]) for name, number in held.ids.items())
        self._ids, self._ranks = np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    def __call__(self, ids: Int) -> Int:
        found: Int = self._ranks[np.searchsorted(self._ids, ids)]
        return found
