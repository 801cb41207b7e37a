"""Doubted versions: a check of them failed, or they were made from a doubted version.

A check is about the version that its run read, or wrote. Its latest result about a version counts; a person's verdict
settles it. Computed anew for each question from events and verdicts, so their order changes nothing, and a version that
was made again from right ones is no longer doubted.
"""

import contextlib
import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping

import msgspec

from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.wrong_columns import Spread
from headwater.answer.status.wrong_versions import Search
from headwater.errors import NotFound
from headwater.model.checks import Result
from headwater.store.database import Connection
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey
from headwater.store.status import checks as store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.checks import StoredResult

MOST_FAILURES = 1000
"""Failed checks that are looked at, the latest first."""


class Doubt(msgspec.Struct, frozen=True):
    """A version of which checks failed, and what is doubted because of it. `checks`: the last result of each that failed.

    `reached`: the version and what was made from it, the nearest first; `held`: those that their datasets hold still. `cause`: the version whose
    doubt, or condemnation, explains this one; None if this is the first.
    """

    place: Place
    checks: list[StoredResult]
    reached: list[Place]
    held: frozenset[uuid.UUID]
    cause: Place | None

    @property
    def since(self) -> dt.datetime:
        return min(one.at for one in self.checks)


class DoubtedVersions(msgspec.Struct, frozen=True):
    """`doubts`: those of which something is held still, in order of time. `rows`: the versions that they reach. `capped`: there may be more."""

    doubts: list[Doubt]
    rows: dict[uuid.UUID, VersionRow]
    capped: bool

    def of_version(self, version: uuid.UUID) -> list[Doubt]:
        """The doubts that reach this version."""
        return [one for one in self.doubts if any(place.version == version for place in one.reached)]


async def doubted_versions(connection: Connection) -> DoubtedVersions:
    """Return all versions that are doubted now."""
    failures = await store.failed(connection, MOST_FAILURES)
    if not failures:
        return DoubtedVersions([], {}, capped=False)
    results = [*failures, *await store.passed_since(connection, failures)]
    walk = RunRecords(connection)
    fine = await store.fine(connection)
    standing = _standing(await _places(walk, results), fine)
    wrong = await _wrong(connection)
    search = Search()
    search.begin(connection)
    search.share(walk)
    await search.condemn_places(standing)
    current = await origin_store.current(
        connection, {row.id for place in search.found.places if (row := search.row(place)) is not None}
    )
    reached = {
        place: _reached(search.found, place, fine, max(one.at for one in checks)) for place, checks in standing.items()
    }
    first = {place: min(one.at for one in checks) for place, checks in standing.items()}
    doubts = []
    for place, checks in standing.items():
        held = frozenset(
            each.version for each in reached[place] if each.version is not None and each.version in current
        )
        if held:
            doubts.append(Doubt(place, checks, reached[place], held, _cause(place, reached, first, wrong)))
    doubts.sort(key=lambda one: (one.since, str(one.place.version)))
    rows = {id_: row for place in search.found.places if (row := search.row(place)) is not None and (id_ := row.id)}
    return DoubtedVersions(doubts, rows, len(failures) == MOST_FAILURES or search.found.capped)


async def _places(walk: RunRecords, results: Collection[StoredResult]) -> list[tuple[Place, StoredResult]]:
    """The versions that these results are about. A run that wrote no version of what it checked, or read an unknown one, says nothing of any."""
    read = await walk.read_by({one.run for one in results if one.direction == "in"})
    written = await walk.written_by({one.run for one in results if one.direction == "out"})
    return [
        (place, one)
        for one in results
        for place in (read if one.direction == "in" else written).get(one.run, ())
        if place.dataset == one.dataset and place.version is not None
    ]


def _standing(
    results: Iterable[tuple[Place, StoredResult]], fine: Mapping[uuid.UUID, dt.datetime]
) -> dict[Place, list[StoredResult]]:
    """The checks whose last result about a version is a failure that came after any verdict."""
    last: dict[tuple[Place, str, str], StoredResult] = {}
    for place, one in results:
        key = place, one.name, one.field
        if key not in last or _rank(one) > _rank(last[key]):
            last[key] = one
    found: dict[Place, list[StoredResult]] = {}
    for (place, _, _), one in sorted(last.items(), key=lambda item: _rank(item[1])):
        if one.result == Result.FAILED and not _is_fine(place, fine, one.at):
            found.setdefault(place, []).append(one)
    return found


def _rank(one: StoredResult) -> tuple[dt.datetime, bytes, int, str, str]:
    return one.at, one.digest, one.result, one.name, one.field


def _is_fine(place: Place, fine: Mapping[uuid.UUID, dt.datetime], at: dt.datetime) -> bool:
    """Return whether a verdict came after a failure of this time."""
    return place.version is not None and place.version in fine and fine[place.version] >= at


async def _wrong(connection: Connection) -> Collection[Place]:
    """Return the places that are wrong by recorded reads because of incidents."""
    search = Search()
    search.begin(connection)
    for origin in await origin_store.condemned(connection):
        with contextlib.suppress(NotFound):  # retention deleted it
            await search.condemn([origin])
    return search.found.places.keys()


def _reached(found: Spread, root: Place, fine: Mapping[uuid.UUID, dt.datetime], at: dt.datetime) -> list[Place]:
    """The version and what was made from it, the nearest first. What a person has called right since is left out, with what only that led to."""
    readers: dict[Place, list[RunKey]] = {}
    for run, places in found.read.items():
        for place in places:
            readers.setdefault(place, []).append(run)
    reached, seen = [root], {root}
    for place in reached:
        for run in readers.get(place, ()):
            new = {each for each in found.written.get(run, ()) if each not in seen and not _is_fine(each, fine, at)}
            seen |= new
            reached += sorted(new, key=lambda each: (str(each.dataset), str(each.version)))
    return reached


def _cause(
    place: Place,
    reached: Mapping[Place, Collection[Place]],
    first: Mapping[Place, dt.datetime],
    wrong: Collection[Place],
) -> Place | None:
    """Return the place that explains a doubt: itself if a verdict says that it is wrong, else the earliest other doubt
    that reaches it.

    If two reach each other, which happens when reads are judged by time, the earlier explains the later.
    """
    if place in wrong:
        return place

    def order(one: Place) -> tuple[dt.datetime, str]:
        return first[one], str(one.version)

    others = [
        other
        for other, some in reached.items()
        if other != place and place in some and (other not in reached[place] or order(other) < order(place))
    ]
    return min(others, key=order, default=None)
