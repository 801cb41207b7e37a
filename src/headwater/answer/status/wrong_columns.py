"""The part of everything wrong that remains if only some columns are wrong: a run that used none of them is right."""

import uuid
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headwater.answer.lineage.walk import Place
from headwater.entities.needs.columns import ALL, Columns, Way, both, named
from headwater.store.lineage.column_flow import WriteEvidence, WrittenDataset
from headwater.store.lineage.runs import RunKey

MOST = 100_000
"""Runs and versions that one question may reach."""


class Reason(NamedTuple):
    """The reason for which a run or a version is wrong: what it came from (None: it was condemned itself), how many
    steps from there, and whether a guess by time is on the way."""

    because: RunKey | Place | None
    depth: int
    basis: str


class Spread:
    """Everything wrong that was found, the nearest first. `read`, `written`: the wrong places that each run read and wrote. `columns`: of places of
    which only some are wrong. `capped`: `MOST` was reached, so there may be more.
    """

    def __init__(self) -> None:
        self.runs: dict[RunKey, Reason] = {}
        self.places: dict[Place, Reason] = {}
        self.read: dict[RunKey, set[Place]] = {}
        self.written: dict[RunKey, set[Place]] = {}
        self.columns: dict[Place, Columns] = {}
        self.capped = False

    def room(self) -> bool:
        """Return whether one more may be added; if not, mark the spread as capped."""
        self.capped = self.capped or len(self.runs) + len(self.places) >= MOST
        return not self.capped


_Flow = tuple[uuid.UUID, uuid.UUID, uuid.UUID]
"""The dataset that was read, the job, and the dataset that it wrote."""


def restricted(
    reached: Spread,
    condemned: Mapping[RunKey | Place, Columns],
    flows: Mapping[uuid.UUID, Iterable[WrittenDataset]],
) -> Spread:
    """Return those of `reached` that used a wrong column.

    `condemned`: runs and versions with their wrong columns; `flows`: by dataset, what jobs made from it and how, in all
    their runs. A run that wrote nothing, or of which no event reports columns, may have used any column.
    """
    ways: dict[_Flow, list[Way]] = {}
    for source, some_written in flows.items():
        for one in some_written:
            ways.setdefault((source, one.job, one.dataset), []).extend(_way(each) for each in one.ways)
    columns: dict[Place, Columns] = {at: some for at, some in condemned.items() if isinstance(at, Place)}
    for run, some in condemned.items():
        if not isinstance(run, Place):
            columns |= dict.fromkeys(reached.written.get(run, ()), some)
    changed = True
    while changed:
        changed = False
        for run, written in reached.written.items():
            for place in written:
                before = columns.get(place, frozenset())
                now = before
                for read in reached.read.get(run, ()):
                    wrong = columns.get(read, frozenset())
                    now = both(now, _carried(ways.get((read.dataset, run.job, place.dataset)), read.dataset, wrong))
                if now != before:
                    columns[place], changed = now, True
    found = Spread()
    found.capped, found.written = reached.capped, reached.written
    found.places = {place: why for place, why in reached.places.items() if columns.get(place)}
    found.columns = {place: some for place, some in columns.items() if some and some != ALL}
    found.read = {run: {place for place in some if columns.get(place)} for run, some in reached.read.items()}
    found.runs = {
        run: why
        for run, why in reached.runs.items()
        if run in condemned
        or (found.read.get(run) and (not reached.written.get(run) or reached.written[run] & found.places.keys()))
    }
    return found


def _carried(ways: list[Way] | None, read: uuid.UUID, wrong: Columns) -> Columns:
    """The columns made from these, in any of the ways in which the job has written; all where nothing says how it does."""
    if not wrong or wrong == ALL:
        return wrong
    if not ways:
        return ALL
    found: Columns = frozenset()
    for way in ways:
        found = both(found, way.carried(read, wrong))
    return found


def _way(one: WriteEvidence) -> Way:
    fed: dict[uuid.UUID, dict[str, Columns]] = {}
    for edge in one.edges:
        of = fed.setdefault(edge.source, {})
        of[edge.source_field.casefold()] = of.get(edge.source_field.casefold(), frozenset()) | named(
            [edge.target_field]
        )
    return Way(fed, named(one.told), None if one.columns is None else named(one.columns))
