"""The part of a run's reads that was traced: counted where the plan's leaves are resolved, reported in the run facet `headwater_coverage`.

A read is a leaf of the plan that something outside of the program feeds; a table that two leaves read is two. Pure.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from headwater.client import event

# Reads of one run that are named; the rest is counted.
_MOST_NAMED = 20


class Unseen(msgspec.Struct, frozen=True):
    """A read that was not found out, or only in part, and why."""

    what: str
    why: str


class Coverage(msgspec.Struct):
    """The reads of a run. `traced`: with columns; `through_function`: only its datasets, as an RDD is read. `limits`: bounds that cut the search.

    `written`: datasets written.
    """

    traced: int = 0
    through_function: int = 0
    unseen: list[Unseen] = []
    limits: list[str] = []
    written: int = 0

    @property
    def reads(self) -> int:
        return self.traced + self.through_function + len(self.unseen)

    def miss(self, what: str, why: object) -> None:
        """Add a read that was not found out. `why`: a sentence, or the error."""
        text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else str(why)
        first = text.strip().split("\n", 1)[0][:300]
        self.unseen = [*self.unseen, Unseen(what[:200], first)]

    def limit(self, text: str) -> None:
        """Add a bound that cut the search for what is read."""
        if text not in self.limits:
            self.limits = [*self.limits, text]

    def add(self, other: "Coverage") -> None:
        """Add the reads of a run below."""
        self.traced += other.traced
        self.through_function += other.through_function
        self.unseen = [*self.unseen, *other.unseen]
        self.limits = list(dict.fromkeys([*self.limits, *other.limits]))
        self.written += other.written


def facet(found: Coverage) -> dict[str, Any]:
    """Return the run facet."""
    named = found.unseen[:_MOST_NAMED]
    body = {
        "reads": found.reads,
        "traced": found.traced,
        "throughFunction": found.through_function,
        "notSeen": len(found.unseen),
        "reasons": [{"what": one.what, "why": one.why} for one in _distinct(named)],
        "limits": found.limits[:_MOST_NAMED],
        "written": found.written,
    }
    return {"headwater_coverage": event.facet("headwater_coverage", **body)}


def _distinct(found: Iterable[Unseen]) -> list[Unseen]:
    return list(dict.fromkeys(found))
