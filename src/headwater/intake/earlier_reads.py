"""Who had read of what an incident condemns nothing but earlier versions, so that they are not wrong because of it.

Only what was recorded counts: whoever has a version without a record may have read anything. Content decides, where it is known: who read the same
content before has read what is condemned.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from headwater.entities.declaration.held import Held
from headwater.entities.graph import Link
from headwater.entities.ordinals import NONE, Ordinals
from headwater.store.status import Read, Version

_LOOKED_AT = 100_000
"""Versions of what is condemned, times the moments as of which they were read; beyond that everybody is taken to have read the last."""


def missed(
    held: Held, roots: Mapping[str, Ordinals], versions: Sequence[Version], reads: Iterable[Read]
) -> Callable[[Link], Ordinals]:
    """For `Past.missed`. `versions`: all of the roots and of who reads them, in the order in which they were produced; `reads`: what they read."""
    wanted = {held.number(name): some for name, some in roots.items()}
    condemned = {
        number: [v for v in versions if v.entity_id == number and Ordinals.between(v.start_, v.end_) & some]
        for number, some in wanted.items()
    }
    rows = [
        (read, hit)
        for read in reads
        if (hit := wanted.get(read.upstream_id, NONE) & Ordinals.between(read.start_, read.end_))
    ]
    moments = {(read.upstream_id, read.read_seq) for read, _ in rows}
    if sum(len(condemned[number]) for number, _ in moments) > _LOOKED_AT:
        return lambda _: NONE
    now = {number: _contents(some, 2**62) for number, some in condemned.items()}
    current = {(number, seq): _same(_contents(condemned[number], seq), now[number]) for number, seq in moments}
    used = {(read.seq, read.upstream_id) for read, hit in rows if hit & current[read.upstream_id, read.read_seq]}
    earlier = {(read.seq, read.upstream_id) for read, _ in rows} - used
    found: dict[tuple[int, int], Ordinals] = {}
    for number in wanted:
        before: dict[int, Ordinals] = {}
        others: dict[int, Ordinals] = {}
        for version in versions:
            key = version.seq, number
            of = before if key in earlier and version.complete else others
            if key in earlier or key in used or not version.complete:
                stretch = Ordinals.between(version.start_, version.end_)
                of[version.entity_id] = of.get(version.entity_id, NONE) | stretch
        for entity_id, some in before.items():
            found[entity_id, number] = some - others.get(entity_id, NONE)

    def by(link: Link) -> Ordinals:
        # What is carried on may come from further back than what was read.
        if link.carried:
            return NONE
        return found.get((held.number(link.downstream), held.number(link.upstream)), NONE)

    return by


def _contents(versions: Iterable[Version], seq: int) -> dict[str, Ordinals]:
    """By content the instances that had it, as known at a seq."""
    found: dict[str, Ordinals] = {}
    for version in versions:
        if version.seq <= seq:
            stretch = Ordinals.between(version.start_, version.end_)
            found = {each: some - stretch for each, some in found.items()}
            key = version.fingerprint if version.fingerprint is not None else f"seq {version.seq}"
            found[key] = found.get(key, NONE) | stretch
    return found


def _same(before: Mapping[str, Ordinals], now: Mapping[str, Ordinals]) -> Ordinals:
    return NONE.union(*(some & now.get(key, NONE) for key, some in before.items()))
