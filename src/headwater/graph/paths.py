"""The shortest ways between two ends, searched from both ends at once. Sans I/O: who uses it fetches the steps.

A place is (node, field); the empty field is the whole dataset, and stands for each of its columns (see `reach`). A step leads from a place
to a place through a job. `Search` says which places to look at next; the caller feeds it every step out of them (or into them); when both
sides meet, every shortest way is known, and they are counted without being listed. Ways that are longer than the shortest are not looked for.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

Place = tuple[uuid.UUID, str]


class Step(msgspec.Struct, frozen=True, order=True):
    """From a place to a place through a job; the job may itself be an end."""

    source: Place
    job: uuid.UUID
    target: Place


def joins(one: Place, other: Place) -> bool:
    """Return whether a way that ends at one goes on from the other: the same column, or either is the whole of the same dataset."""
    return one[0] == other[0] and (one[1] == other[1] or not one[1] or not other[1])


class _Side:
    """One end's places and the steps found from them, level by level."""

    def __init__(self, ends: Collection[Place]) -> None:
        self.met: set[Place] = set(ends)
        self.frontier: set[Place] = set(ends)
        self.levels: list[list[Step]] = []
        self.fields: dict[uuid.UUID, set[str]] = defaultdict(set)
        for node, field in ends:
            self.fields[node].add(field)

    def feed(self, steps: list[Step], reached: Collection[Place]) -> None:
        self.levels.append(steps)
        self.frontier = {place for place in reached if place not in self.met}
        self.met |= self.frontier
        for node, field in self.frontier:
            self.fields[node].add(field)

    def touches(self, place: Place) -> bool:
        fields = self.fields.get(place[0])
        return fields is not None and (not place[1] or place[1] in fields or "" in fields)


class Search:
    """Searches from `starts` downstream and from `ends` upstream in turn, always where there is less to look at.

    `max_length` bounds the steps of a way, `max_places` what is looked at in all; `cut` says which of them ended the search, if one did.
    """

    def __init__(
        self, starts: Collection[Place], ends: Collection[Place], *, max_length: int, max_places: int = 100_000
    ) -> None:
        self._down, self._up = _Side(starts), _Side(ends)
        self._starts, self._ends = frozenset(starts), frozenset(ends)
        self._max_length, self._max_places = max_length, max_places
        self.found = False
        self.cut: str | None = None

    @property
    def length(self) -> int:
        """Steps taken from both ends so far; when `found`, the length of the shortest ways."""
        return len(self._down.levels) + len(self._up.levels)

    @property
    def places(self) -> int:
        """Return the number of places met."""
        return len(self._down.met) + len(self._up.met)

    def wants(self) -> tuple[str, frozenset[Place]] | None:
        """(`downstream` or `upstream`, the places whose steps that way are wanted); None when the search is over."""
        if self.found or not self._down.frontier or not self._up.frontier:
            return None
        if self.length >= self._max_length:
            self.cut = "max_length"
            return None
        if self.places > self._max_places:
            self.cut = "max_places"
            return None
        if len(self._down.frontier) <= len(self._up.frontier):
            return "downstream", frozenset(self._down.frontier)
        return "upstream", frozenset(self._up.frontier)

    def feed(self, direction: str, steps: Collection[Step]) -> None:
        """Every step out of (or into) the wanted places; others are ignored."""
        near, far = (self._down, self._up) if direction == "downstream" else (self._up, self._down)
        frontier = defaultdict(set)
        for node, field in near.frontier:
            frontier[node].add(field)
        mine, reached = [], set()
        for step in sorted(set(steps)):
            here, there = (step.source, step.target) if direction == "downstream" else (step.target, step.source)
            fields = frontier.get(here[0])
            if fields is not None and (not here[1] or here[1] in fields or "" in fields):
                mine.append(step)
                reached.add(there)
        near.feed(mine, reached)
        self.found = any(far.touches(place) for place in near.frontier)

    def ways(self, limit: int) -> tuple[list[tuple[Step, ...]], int]:
        """At most so many of the shortest ways, in a settled order, and how many there are."""
        if not self.found:
            return [], 0
        layers: list[Sequence[Step]] = [*self._down.levels, *reversed(self._up.levels)]
        # From the end: in how many ways each step of a layer leads there.
        counts: list[dict[Step, int]] = [{} for _ in layers]
        following: dict[uuid.UUID, list[tuple[Step, int]]] = {}
        for index in range(len(layers) - 1, -1, -1):
            for step in layers[index]:
                if index == 0 and not any(joins(start, step.source) for start in self._starts):
                    continue
                if index == len(layers) - 1:
                    count = int(any(joins(step.target, end) for end in self._ends))
                else:
                    count = sum(n for other, n in following.get(step.target[0], ()) if joins(step.target, other.source))
                if count:
                    counts[index][step] = count
            following = defaultdict(list)
            for step, count in counts[index].items():
                following[step.source[0]].append((step, count))
        total = sum(counts[0].values())
        found: list[tuple[Step, ...]] = []
        for way in _listed(counts):
            if len(found) >= limit:
                break
            found.append(way)
        return found, total


def _listed(counts: list[dict[Step, int]]) -> Iterator[tuple[Step, ...]]:
    """Every way through the layers, depth first: each step kept leads to the end, so none is walked in vain."""
    by_source: list[dict[uuid.UUID, list[Step]]] = []
    for layer in counts:
        indexed: dict[uuid.UUID, list[Step]] = defaultdict(list)
        for step in layer:
            indexed[step.source[0]].append(step)
        by_source.append(indexed)
    stack: list[tuple[Step, ...]] = [(step,) for step in sorted(counts[0], reverse=True)]
    while stack:
        way = stack.pop()
        if len(way) == len(counts):
            yield way
            continue
        last = way[-1].target
        following = [s for s in by_source[len(way)].get(last[0], ()) if joins(last, s.source)]
        stack += [(*way, step) for step in sorted(following, reverse=True)]


def shortest(
    following: Mapping[str, Collection[str]], starts: Collection[str], ends: Collection[str], limit: int
) -> list[list[str]]:
    """At most `limit` of the shortest ways from one of `starts` to one of `ends`, each as its nodes in order."""
    before: dict[str, list[str]] = {start: [] for start in starts}
    level = sorted(before)
    while level and before.keys().isdisjoint(ends):
        reached: dict[str, list[str]] = defaultdict(list)
        for node in level:
            for other in following.get(node, ()):
                if other not in before:
                    reached[other].append(node)
        before |= reached
        level = sorted(reached)
    ways = [[end] for end in sorted(set(ends) & before.keys())][:limit]
    while any(before[way[0]] for way in ways):
        ways = [[node, *way] for way in ways for node in sorted(before[way[0]])][:limit]
    return ways
