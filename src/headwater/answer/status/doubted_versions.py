"""Doubted versions: a check of them failed, or they were made from a doubted version.

A check is about the version that its run read, or wrote; a check without a run, about the version that its event names,
or the current one. Its latest result about a version counts; a person's verdict settles it. If only checks of columns
failed, versions made from other columns are not doubted. Computed anew for each question from events and verdicts, so
their order changes nothing, and a version that was made again from right ones is no longer doubted.
"""

import contextlib
import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.doubted_instances import DoubtedInstances, InstanceDoubts
from headwater.answer.status.instance_pairs import InstancePairs
from headwater.answer.status.wrong_columns import Spread, restricted
from headwater.answer.status.wrong_versions import Search
from headwater.entities.needs.columns import ALL, Columns, named
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import NotFound
from headwater.model.checks import Result
from headwater.model.version import run_ids
from headwater.store.database import Connection
from headwater.store.lineage import column_flow, run_lineage
from headwater.store.lineage.column_flow import WrittenDataset
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey
from headwater.store.status import checks as store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.checks import StoredResult
from headwater.store.status.wrong_versions import InstanceRange, MadeInstances

MOST_FAILURES = 1000
"""Failed checks that are looked at, the latest first."""


class Doubt(msgspec.Struct, frozen=True):
    """A version of which checks failed, or a dataset without versions, and what is doubted because of it. `checks`: the last of each that failed.

    `reached`: the version and what was made from it, the nearest first; `held`: those that their datasets hold still. `cause`: the version whose
    doubt, or condemnation, explains this one; None if this is the first. `instances`: of a first one, the doubted instances by entity.
    """

    place: Place
    checks: list[StoredResult]
    reached: list[Place]
    held: frozenset[uuid.UUID]
    cause: Place | None
    instances: list[DoubtedInstances] = []

    @property
    def since(self) -> dt.datetime:
        return min(one.at for one in self.checks)


def describe_check(one: StoredResult) -> str:
    """Describe a check: `check not_null(id) failed: expected 0, found 3`."""
    column, detail = f"({one.field})" if one.field else "", f": {one.detail}" if one.detail else ""
    return f"check {one.name}{column} failed{detail}"


class DoubtedVersions(msgspec.Struct, frozen=True):
    """`doubts`: those of which something is held still, in order of time. `rows`: the versions that they reach. `capped`: there may be more."""

    doubts: list[Doubt]
    rows: dict[uuid.UUID, VersionRow]
    capped: bool

    def of_version(self, version: uuid.UUID) -> list[Doubt]:
        """The doubts that reach this version."""
        return [one for one in self.doubts if any(place.version == version for place in one.reached)]


async def doubted_versions(connection: Connection, *, replaced: bool = False) -> DoubtedVersions:
    """Return all versions that are doubted now; `replaced`: also those of which nothing is held any more."""
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
        connection,
        {id_ for place in search.found.places if (id_ := place.version) is not None and id_ in walk.versions},
    )
    flows: Mapping[uuid.UUID, Iterable[WrittenDataset]] = {}
    if any(checked_columns(checks) != ALL for checks in standing.values()):
        flows = await column_flow.written_from(connection, {place.dataset for place in search.found.places}, None)
    reached = {place: _reached(search.found, place, fine, checks, flows) for place, checks in standing.items()}
    first = {place: min(one.at for one in checks) for place, checks in standing.items()}
    causes = {place: _cause(place, reached, first, wrong) for place in standing}
    instances = await _follow_schedules(
        connection, walk, standing, {place: some for place, some in reached.items() if causes[place] is None}, fine
    )
    beyond = {each for places, _ in instances.values() for each in places} - search.found.places.keys()
    current |= await origin_store.current(
        connection, {each.version for each in beyond if each.version in walk.versions and each.version is not None}
    )
    doubts = []
    for place, checks in standing.items():
        places, those = instances.get(place, (reached[place], []))
        held = frozenset(each.version for each in places if each.version is not None and each.version in current)
        if held or those or replaced or place.version is None:
            doubts.append(Doubt(place, checks, places, held, causes[place], those))
    doubts.sort(key=lambda one: (one.since, str(one.place.version)))
    rows = {
        id_: walk.versions[id_]
        for place in (*search.found.places, *beyond)
        if (id_ := place.version) is not None and id_ in walk.versions
    }
    return DoubtedVersions(doubts, rows, len(failures) == MOST_FAILURES or search.found.capped)


async def _places(walk: RunRecords, results: Collection[StoredResult]) -> list[tuple[Place, StoredResult]]:
    """The versions that these results are about. A dataset that no run wrote has one place without a version; else a run that wrote no version of
    what it checked, or read an unknown one, says nothing of any."""
    read = await walk.read_by({one.run for one in results if one.direction == "in"})
    written = await walk.written_by({one.run for one in results if one.direction == "out"})
    alone = [one for one in results if one.direction == "event"]
    named_ = await store.checked_versions(walk.connection, alone)
    walk.versions |= await run_lineage.versions(walk.connection, {id_ for ids in named_ for id_ in ids})
    unwritten = await store.unwritten(walk.connection, {one.dataset for one in results if one.direction != "out"})
    found = [
        (place, one)
        for one in results
        if one.direction != "event"
        for place in (read if one.direction == "in" else written).get(one.run, ())
        if place.dataset == one.dataset and place.version is not None
    ] + [(Place(one.dataset, id_), one) for one, ids in zip(alone, named_, strict=True) for id_ in ids]
    return found + [
        (Place(one.dataset, None), one) for one in results if one.direction != "out" and one.dataset in unwritten
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


async def _follow_schedules(
    connection: Connection,
    walk: RunRecords,
    standing: Mapping[Place, Sequence[StoredResult]],
    reached: Mapping[Place, list[Place]],
    fine: Mapping[uuid.UUID, dt.datetime],
) -> dict[Place, tuple[list[Place], list[DoubtedInstances]]]:
    """Return for each of these doubts that reaches instances its versions and its instances: runs that made doubted instances wrote doubted versions,
    and the other way round, until neither finds more."""

    pairs = InstancePairs(connection, walk)

    async def made(places: Iterable[Place]) -> list[MadeInstances]:
        """The instances that these versions are, or may be."""
        writers = {writer.run for place in places if (writer := walk.writer_of(place)) is not None}
        above = {maker for some in (await pairs.load_above(writers)).values() for maker in some}
        return [one for run in above for one in pairs.made_by(run) if not pairs.homes(one).isdisjoint(places)]

    found = {}
    for root, places in reached.items():
        new = await made(set(places))
        if not new:
            continue
        at = max(one.at for one in standing[root])
        doubts, seen = await InstanceDoubts.load(connection, at), dict.fromkeys(places)
        followed: set[MadeInstances] = set()
        while new:
            followed.update(new)
            await doubts.follow_made([(one.run, one.some) for one in new])
            search = Search()
            search.begin(connection)
            search.share(walk)
            versions = await _versions_of(pairs, doubts.list_made())
            await search.condemn_places(versions - seen.keys())
            for place in sorted(search.found.places.keys() & versions, key=lambda each: str(each.version)):
                if not _is_fine(place, fine, at):
                    seen |= dict.fromkeys(_downstream(search.found, place, fine, at))
            new = [one for one in await made(seen.keys()) if one not in followed]
        found[root] = list(seen), doubts.current_instances()
    return found


async def _versions_of(pairs: InstancePairs, made: Iterable[tuple[str, InstanceRange]]) -> set[Place]:
    """The versions that these instances of these runs are, or may be."""
    wanted: dict[tuple[str, int], Ordinals] = {}
    for run, some in made:
        key = run, some.entity_id
        wanted[key] = wanted.get(key, NONE) | Ordinals.between(some.start_, some.end_)
    runs = run_ids(run for run, _ in wanted)
    await pairs.load(runs)
    return {
        place
        for run in runs
        for one in pairs.made_by(run)
        if wanted.get((one.run, one.some.entity_id), NONE) & Ordinals.between(one.some.start_, one.some.end_)
        for place in pairs.homes(one)
    }


async def _wrong(connection: Connection) -> Collection[Place]:
    """Return the places that are wrong by recorded reads because of incidents."""
    search = Search()
    search.begin(connection)
    for origin in await origin_store.condemned(connection):
        with contextlib.suppress(NotFound):  # retention deleted it
            await search.condemn([origin])
    return search.found.places.keys()


def checked_columns(checks: Iterable[StoredResult]) -> Columns:
    """The columns that these failed checks doubt; all if one of them is about the dataset as a whole."""
    fields = [one.field for one in checks]
    return named(fields) if all(fields) else ALL


def _reached(
    found: Spread,
    root: Place,
    fine: Mapping[uuid.UUID, dt.datetime],
    checks: Sequence[StoredResult],
    flows: Mapping[uuid.UUID, Iterable[WrittenDataset]],
) -> list[Place]:
    """The version and what was made from it, the nearest first. What a person has called right since is left out, with what only that led to; so is
    what used none of the checked columns.
    """
    reached = _downstream(found, root, fine, max(one.at for one in checks))
    if (columns := checked_columns(checks)) == ALL:
        return reached
    part, seen = Spread(), set(reached)
    part.places = {place: found.places[place] for place in reached}
    part.read = {run: some & seen for run, some in found.read.items() if some & seen}
    part.written = {run: some & seen for run, some in found.written.items() if some & seen}
    used = restricted(part, {root: columns}, flows).places
    return [place for place in reached if place in used]


def _downstream(found: Spread, root: Place, fine: Mapping[uuid.UUID, dt.datetime], at: dt.datetime) -> list[Place]:
    """The version and all that was made from it, but for what a person has called right since a time."""
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
