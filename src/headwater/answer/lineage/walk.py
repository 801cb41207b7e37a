"""One walk over runs and the versions that they read and wrote, up and down, over links from any number of sources.

A source gives the links of many nodes at once: what events say of versions (`run_records.py`), of items and contents (`item_records.py`), what a
schedule says of instances (`status/instance_links.py`). The walk knows nothing of them: it counts steps, and what it left out.
"""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Protocol

import msgspec

from headwater.store.lineage.runs import RunKey

ALL = 1_000_000_000
"""More steps than any way has."""


class Place(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A version: one that is known by its id, or what one run alone says it read or wrote."""

    dataset: uuid.UUID
    version: uuid.UUID | None
    external: str = ""
    # The only run that reports it, if a run wrote it without a version.
    writer: RunKey | None = None


class Item(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """An item or a content, by its id."""

    id: uuid.UUID


class Instances(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """The instances of an entity that are part of an answer."""

    entity: str


Key = RunKey | Place | Item | Instances


class Link(msgspec.Struct, frozen=True, gc=False):
    """`relation`: a run READ or WROTE a version, CAUSED a run; an item IS a content, is PART of a version; instances NEED others, a run MADE them.

    `evidence`: TOLD by events; DERIVED from the time at which the reader began; UNKNOWN version; SCHEDULE. `weight`: steps. `refused`: it would
    close a loop; it is shown and not followed.
    """

    relation: str
    evidence: str
    declared: bool = False
    parts: tuple[str, ...] = ()
    weight: int = 1
    refused: bool = False
    since: dt.datetime | None = None
    by: str | None = None


Step = tuple[Key, Key, Link]
"""From, to, and how, along the flow of the data."""


class Source(Protocol):
    """The link between two nodes."""

    async def expand(self, keys: Collection[Key], direction: str, steps: int) -> list[Step]:
        """The links of these nodes in one direction; it may add those of nodes up to so many `steps` beyond them."""


class Walk:
    """`steps`: how far each node of the answer is from the nearest root, negative upstream. `links`: between them. `beyond`: by direction and
    node, the neighbours that are no part of the answer. `capped`: how many were met and left out because of `max_nodes`.
    """

    def __init__(self, sources: Collection[Source], roots: Iterable[Key], max_nodes: int) -> None:
        self.sources, self.roots, self.max_nodes = sources, list(dict.fromkeys(roots)), max_nodes
        self.steps: dict[Key, int] = {}
        self.links: dict[tuple[Key, Key], Link] = {}
        self.beyond: dict[str, dict[Key, set[Key]]] = {"upstream": defaultdict(set), "downstream": defaultdict(set)}
        self.capped = 0

    async def go(self, direction: str, limit: int) -> None:
        """Walk `upstream`, `downstream` or `both` ways, at most so many steps; afterwards the answer is whole."""
        for way in ("upstream", "downstream"):
            if direction in {"both", way}:
                for key, at in (await _Way(self, way, limit).walk()).items():
                    signed = -at if way == "upstream" else at
                    if key not in self.steps or at < abs(self.steps[key]):
                        self.steps[key] = signed
        self.steps |= dict.fromkeys(self.roots, 0)
        if len(self.steps) > self.max_nodes:
            nearest = sorted(self.steps.items(), key=lambda met: abs(met[1]))
            self.capped = len(nearest) - self.max_nodes
            self.steps = dict(nearest[: self.max_nodes])

    def hop(self, key: Key) -> int:
        """Return how many versions away the node is: a step from a run to a version and one from there to a run are one hop."""
        at = self.steps[key]
        odd = isinstance(self.roots[0], RunKey)
        far = (abs(at) + 1 + (odd and at != 0)) // 2
        return -far if at < 0 else far

    def hidden(self) -> set[Key]:
        """Neighbours of the answer that are no part of it."""
        return {each for side in self.beyond.values() for some in side.values() for each in some} - self.steps.keys()

    def hidden_at(self, key: Key, direction: str) -> int:
        """Return how many neighbours of one node are not part of the answer."""
        beyond = self.beyond[direction].get(key)
        return sum(each not in self.steps for each in beyond) if beyond else 0


class _Way:
    """One direction of a walk: breadth first, asking the sources for whole levels, and for what they know of beyond, at once."""

    def __init__(self, walk: Walk, direction: str, limit: int) -> None:
        self._walk, self._direction, self._limit = walk, direction, limit
        self._next: dict[Key, list[tuple[Key, int]]] = defaultdict(list)
        self._fetched: set[Key] = set()
        self._met: dict[Key, None] = {}

    async def walk(self) -> dict[Key, int]:
        """Return the fewest steps to each node."""
        steps: dict[Key, int] = dict.fromkeys(self._walk.roots, 0)
        waiting, at, beyond = {0: list(steps)}, 0, self._walk.beyond[self._direction]
        while waiting and len(steps) <= self._walk.max_nodes:
            level = [key for key in waiting.pop(at, ()) if steps[key] == at]
            while level:
                await self._fetch(level, at)
                same: list[Key] = []
                for key in level:
                    for other, weight in self._next.get(key, ()):
                        known = steps.get(other)
                        if known is not None and known <= at + weight:
                            continue
                        if at + weight > self._limit:
                            beyond[key].add(other)
                            continue
                        steps[other] = at + weight
                        (waiting.setdefault(at + weight, []) if weight else same).append(other)
                level = same
            at += 1
        return steps

    async def _fetch(self, level: Collection[Key], at: int) -> None:
        fresh = {key: None for key in level if key not in self._fetched}
        if not fresh:
            return
        if at < self._limit:
            fresh |= {key: None for key in self._met if key not in self._fetched}
            self._met.clear()
        self._fetched |= fresh.keys()
        up, several = self._direction == "upstream", len(self._walk.sources) > 1
        for source in self._walk.sources:
            for start, end, link in await source.expand(fresh, self._direction, max(self._limit - at, 1)):
                near, far = (end, start) if up else (start, end)
                self._walk.links.setdefault((start, end), link)
                if not link.refused:
                    self._next[near].append((far, link.weight))
                    if several:
                        self._met[far] = self._met[near] = None
