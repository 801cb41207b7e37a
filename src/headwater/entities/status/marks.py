"""The marks of an entity's instances, as sets of ordinals: which are completed, which are running, which are wrong
because of which incident.

A mark is a kind and what it refers to. Kinds belong to axes that do not exclude each other: an instance may be completed, running anew and tainted
at once. Which changes are allowed is `transitions.py`; nothing here knows what a mark means beyond the sets that every caller asks for.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from headwater.entities.time.ordinals import NONE, Ordinals

Kind = Literal[
    "state",  # availability: the current version has this state; `ref`: completed, estimated, partial, or one of the entity's own
    "deleted",  # availability: it was there and is not any more; `ref`: retention or external
    "running",  # activity: a run is making it; `ref`: the run
    "repairing",  # activity: a plan is to make it again; `ref`: the plan
    "tainted",  # validity: it is wrong itself; `ref`: the incident
    "inherited",  # validity: wrong because it used what is wrong; `ref`: the incident
    "suspect",  # validity: a check failed; `ref`: the check, or the incident
    "quarantined",  # validity: must not be read; `ref`: who withholds it
    "wont_fix",  # it stays wrong and that is known; `ref`: the incident
    "repaired",  # history: a wrong version of it was replaced by a different one; readers of that one are still wrong; `ref`: the incident
    "stale",  # freshness: something it used has been made again with other content since; `ref`: nothing
]

KINDS: tuple[str, ...] = get_args(Kind)


class Mark(NamedTuple):
    """`state completed`, `inherited 0199…`."""

    kind: Kind
    ref: str = ""


class Marks(Mapping[Mark, Ordinals]):
    """An immutable mapping of each mark to the instances that have it; marks that no instance has are not in it."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[Mark, Ordinals] | None = None) -> None:
        self._held = {mark: some for mark, some in (held or {}).items() if some}

    def of(self, *kinds: Kind) -> Ordinals:
        """Instances with any mark of these kinds, for any ref."""
        return NONE.union(*(some for mark, some in self._held.items() if mark.kind in kinds))

    def by_ref(self, kind: Kind) -> dict[str, Ordinals]:
        """The instances of each ref for one kind."""
        return {mark.ref: some for mark, some in self._held.items() if mark.kind == kind}

    @property
    def exist(self) -> Ordinals:
        """The existing instances: those with at least one state."""
        return self.of("state")

    @property
    def wrong(self) -> Ordinals:
        """The instances that are wrong, by themselves or by what they used."""
        return self.of("tainted", "inherited")

    @property
    def refused(self) -> Ordinals:
        """The instances that must not be read by default: wrong, suspect, quarantined or deleted."""
        return self.of("tainted", "inherited", "suspect", "quarantined", "deleted")

    def within(self, window: Ordinals) -> "Marks":
        """Return the marks of only these instances."""
        return Marks({mark: some & window for mark, some in self._held.items()})

    def with_(self, changes: Mapping[Mark, Ordinals]) -> "Marks":
        """Return the marks with these marks added to these instances."""
        return Marks({**self._held, **{mark: self.get(mark, NONE) | some for mark, some in changes.items()}})

    def without(self, changes: Mapping[Mark, Ordinals]) -> "Marks":
        """Return the marks with these marks taken from these instances."""
        return Marks({mark: some - changes[mark] if mark in changes else some for mark, some in self._held.items()})

    def at(self, ordinal: int) -> frozenset[Mark]:
        """The marks of one instance."""
        return frozenset(mark for mark, some in self._held.items() if ordinal in some)

    def __getitem__(self, mark: Mark) -> Ordinals:
        return self._held[mark]

    def __iter__(self) -> Iterator[Mark]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __repr__(self) -> str:
        return f"Marks({', '.join(f'{mark.kind} {mark.ref}: {some}' for mark, some in self._held.items())})"


def by_entity(rows: Iterable[tuple[int, str, str, int, int]]) -> dict[int, Marks]:
    """Return rows of (entity, kind, ref, start, end) as marks by entity. Kinds that are not known here, of a later version, are ignored."""
    found: dict[int, dict[Mark, list[tuple[int, int]]]] = {}
    for entity, kind, ref, start, end in rows:
        if kind in KINDS:
            mark = Mark(kind, ref)  # type: ignore[arg-type]  # one of KINDS
            found.setdefault(entity, {}).setdefault(mark, []).append((start, end))
    return {entity: Marks({mark: _of(runs) for mark, runs in held.items()}) for entity, held in found.items()}


def _of(runs: list[tuple[int, int]]) -> Ordinals:
    return Ordinals.between(*runs[0]) if len(runs) == 1 else Ordinals(runs)


def replayed(changes: Iterable[tuple[str, str, int, int, bool]]) -> Marks:
    """Return the marks after the last of changes (kind, ref, start, end, added), in the order in which they were
    recorded. Linear in changes and in the stretch that they are about, not in the product of changes and runs."""
    told: dict[Mark, list[tuple[int, int, bool]]] = {}
    for kind, ref, start, end, added in changes:
        if kind in KINDS:
            told.setdefault(Mark(kind, ref), []).append((start, end, added))  # type: ignore[arg-type]  # one of KINDS
    found: dict[Mark, Ordinals] = {}
    for mark, some in told.items():
        low, high = min(each[0] for each in some), max(each[1] for each in some)
        held = np.zeros(high - low + 2, dtype=np.int8)  # one more on either side, so that runs begin and end inside
        for start, end, added in some:
            held[start - low + 1 : end - low + 1] = added
        steps = np.diff(held)
        found[mark] = Ordinals.joined(np.flatnonzero(steps == 1) + low, np.flatnonzero(steps == -1) + low)
    return Marks(found)


def difference(before: Marks, after: Marks) -> Iterator[tuple[Mark, Ordinals, bool]]:
    """Yield the changes, mark by mark: which instances lost it (False), which got it (True)."""
    for mark in {**before, **after}:
        was, now = before.get(mark, NONE), after.get(mark, NONE)
        if was is now:
            continue
        if gone := was - now:
            yield mark, gone, False
        if new := now - was:
            yield mark, new, True
