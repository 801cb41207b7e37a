"""The instances of one upstream that may be read, and why the others may not: sets of marks in, sets with reasons out.

`readiness.py` decides whether missing instances matter. Nothing here knows of dependencies beyond the states they
accept.
"""

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import numpy as np

from headwater.entities.needs.graph import Entity
from headwater.entities.status.marks import Kind, Marks
from headwater.entities.time.ordinals import NONE, Ordinals

Why = Literal[
    "before_start",  # before the upstream's first instance: can never be
    "after_end",  # after its last: can never be
    "empty_window",  # no period of the upstream lies where it was looked for; `instances` is empty
    "withheld",  # there, and must not be read; `ref`: who withholds it
    "wrong",  # there, and wrong, itself or by what it used; `ref`: the incident
    "doubted",  # there, and doubted; `ref`: the check
    "running",  # not there, and a run is making it; `ref`: the run
    "deleted",  # it was there; `ref`: retention or external
    "not_due",  # not there, and not expected before `until`
    "other_state",  # expected by now, and there in a state that is not accepted; `ref`: that state
    "late",  # not there, and expected by now; what has no periods is expected at any time
]

Outcome = Literal["blocks", "failed", "accepted"]


class Missing(NamedTuple):
    """Instances of one upstream that may not be read, all for one reason. With several refs, the least is given: the oldest incident.

    until: of `not_due` the moment from which all of them are expected, seconds since the epoch.
    outcome: `blocks`: it is waited for; `failed`: the wait is over, and it is not to be waited for any more; `accepted`: ready without it.
    """

    entity: str
    instances: Ordinals
    why: Why
    ref: str = ""
    until: int | None = None
    outcome: Outcome = "blocks"


_REFUSED: tuple[tuple[Why, tuple[Kind, ...]], ...] = (
    ("withheld", ("quarantined",)),
    ("wrong", ("tainted", "inherited")),
    ("doubted", ("suspect",)),
)


def readable(marks: Marks, among: Ordinals, states: Collection[str], *, accept_tainted: bool) -> Ordinals:
    """Return those of `among` that have one of these states and are right. `accept_tainted`: wrong and suspect ones
    too, but nothing quarantined.

    An instance with the mark `deleted` does not exist, regardless of its reported state.
    """
    found, refused = NONE, NONE
    for mark, some in marks.items():
        if mark.kind == "state":
            if mark.ref in states:
                found |= some & among
        elif mark.kind in {"deleted", "quarantined"} or (
            not accept_tainted and mark.kind in {"tainted", "inherited", "suspect"}
        ):
            refused |= some & among
    return found - refused


def reasons(
    entity: Entity, every: Ordinals, lacking: Ordinals, marks: Marks, states: Collection[str], now: int, due: int
) -> Iterator[Missing]:
    """Yield why instances of an entity may not be read: each of `lacking` for exactly one reason, the first of `Why`
    that holds.

    `every`: all its instances there may ever be; `due`: how many seconds after its period's end an instance is
    expected.
    """
    name = entity.name
    if lacking:
        # Marks of years need not be looked through for a day.
        marks = marks.within(Ordinals.between(lacking.first, lacking.end))
    left = lacking & every
    for never in (lacking - every) if left != lacking else NONE:
        early = bool(every) and never[0] < every.first
        yield Missing(name, Ordinals([never]), "before_start" if early else "after_end")
    accepted = NONE.union(*(some & left for ref, some in marks.by_ref("state").items() if ref in states))
    there = accepted - marks.of("deleted")
    left -= there
    for why, kinds in _REFUSED:
        for ref, some in _by_ref(marks, kinds, there):
            there -= some
            yield Missing(name, some, why, ref)
    for kind in ("running", "deleted"):
        for ref, some in _by_ref(marks, (kind,), left):
            left -= some
            yield Missing(name, some, kind, ref)
    if not left:
        return
    if entity.instances is None:
        yield from _late(name, left, marks)
        return
    calendar = entity.instances.calendar
    # Expected are those that ended so long ago: all before the period that this moment is in.
    expected = int(calendar.floor(np.array([now - due], dtype=np.int64))[0])
    if late := left & Ordinals.between(left.first, expected):
        yield from _late(name, late, marks)
    if not_due := left & Ordinals.between(expected, left.end):
        until = int(calendar.begins([not_due.end])[0]) + due
        yield Missing(name, not_due, "not_due", until=until)


def _late(name: str, late: Ordinals, marks: Marks) -> Iterator[Missing]:
    for state, some in _by_ref(marks, ("state",), late):
        late -= some
        yield Missing(name, some, "other_state", state)
    if late:
        yield Missing(name, late, "late")


def _by_ref(marks: Marks, kinds: tuple[Kind, ...], among: Ordinals) -> Iterator[tuple[str, Ordinals]]:
    """Yield for each ref, in order, the instances that no ref before it has."""
    if not among:
        return
    found: dict[str, Ordinals] = {}
    for mark, some in marks.items():
        if mark.kind in kinds and (mine := some & among):
            found[mark.ref] = found.get(mark.ref, NONE) | mine
    for ref in sorted(found):
        if mine := found[ref] & among:
            among -= mine
            yield ref, mine
