"""The runs and versions that used a wrong run, version or content: by recorded reads, with no schedule and no
declaration.

A run that read something wrong is wrong, and so is every version that it wrote. The version that a run read is known
exactly if its events name a version, an item or a content; otherwise it is judged by the time at which the run began,
and the answer says so (`basis`). A run whose events say which items of a dataset it read is hit through those only.
Computed anew for each question, so what a later run mended is no longer wrong.
"""

import contextlib
import datetime as dt
import heapq
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.hit_datasets import HitDataset, hit_datasets
from headwater.answer.status.wrong_columns import Reason, Spread, restricted
from headwater.entities.needs.columns import ALL, Columns, named
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import version
from headwater.model.names import short
from headwater.store.database import Connection
from headwater.store.lineage import column_flow, correlation
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.nodes import NodeRow
from headwater.store.lineage.runs import RunKey
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import Origin, OriginKind

_EXACT, _BY_TIME = "exact", "by_time"


class Search:
    """A spread that can be asked to go on from further runs: those that made instances which are wrong by their schedule. `begin` comes first."""

    _connection: Connection
    _walk: RunRecords

    def __init__(self) -> None:
        # All readers, and those that used a wrong column: the same if whole versions are wrong.
        self._reached = self.found = Spread()
        self._of_columns: dict[RunKey | Place, Columns] = {}
        self.described: WrongByReads | None = None

    def begin(self, connection: Connection) -> None:
        """Search in this transaction."""
        self._connection, self._walk = connection, RunRecords(connection)

    def share(self, walk: RunRecords) -> None:
        """Use a walk of the same transaction that has met what is to be condemned."""
        self._walk = walk

    def run_ids(self) -> set[uuid.UUID]:
        """The ids of the runs found."""
        return {key.run for key in self.found.runs}

    async def condemn(self, origins: Iterable[Origin]) -> None:
        """Add what is wrong itself, and everyone that used it. NotFound for what is not known."""
        runs: dict[RunKey, Reason] = {}
        places: dict[Place, Reason] = {}
        itself = Reason(None, 0, _EXACT)
        for origin in origins:
            if origin.kind == "RUN":
                keys = await store.run_keys(self._connection, [uuid.UUID(origin.ref)])
                if not keys:
                    raise NotFound(f"run {origin.ref} is not known", run=origin.ref)
                runs |= dict.fromkeys(keys, itself)
                self._of_columns |= dict.fromkeys(keys, named(origin.columns) or ALL)
            elif origin.kind == "VERSION":
                id_ = uuid.UUID(origin.ref)
                self._walk.versions |= await run_store.versions(self._connection, [id_])
                if id_ not in self._walk.versions:
                    raise NotFound(f"version {id_} is not known", version=origin.ref)
                place = Place(self._walk.versions[id_].dataset, id_)
                places[place] = itself
                self._of_columns[place] = named(origin.columns) or ALL
            else:
                nodes = await correlation.of_version(self._connection, origin.ref)
                if not nodes:
                    raise NotFound(
                        f"no event reports the content {origin.ref} as read or written", fingerprint=origin.ref
                    )
                read = await store.content_readers(self._connection, nodes)
                runs |= dict.fromkeys(read, Reason(None, 1, _EXACT))
                self._of_columns |= dict.fromkeys(read, ALL)
        await self._go_on(runs, places)
        await self._restrict()

    async def condemn_places(self, places: Iterable[Place]) -> None:
        """Add versions that the walk has met, and everyone that used them."""
        some = dict.fromkeys(places, Reason(None, 0, _EXACT))
        self._of_columns |= dict.fromkeys(some, ALL)
        await self._go_on({}, some)

    async def condemn_runs(self, ids: Collection[uuid.UUID]) -> None:
        """Add these runs, which made something that is wrong for another reason."""
        keys = await store.run_keys(self._connection, ids)
        self._of_columns |= dict.fromkeys(keys, ALL)
        await self._go_on(dict.fromkeys(keys, Reason(None, 0, _EXACT)), {})
        await self._restrict()

    async def _restrict(self) -> None:
        """Leave out what used no wrong column, if only some columns of the condemned versions are wrong."""
        if any(columns != ALL for columns in self._of_columns.values()):
            flows = await column_flow.written_from(
                self._connection, {place.dataset for place in self._reached.places}, None
            )
            self.found = restricted(self._reached, self._of_columns, flows)

    async def _go_on(self, runs: dict[RunKey, Reason], places: dict[Place, Reason]) -> None:
        while runs or places:
            new_runs = {key: why for key, why in runs.items() if key not in self._reached.runs and self._reached.room()}
            self._reached.runs |= new_runs
            places = places | await self._written(new_runs)
            new_places = {
                at: why for at, why in places.items() if at not in self._reached.places and self._reached.room()
            }
            self._reached.places |= new_places
            runs, places = await self._readers(new_places), {}

    async def _written(self, runs: dict[RunKey, Reason]) -> dict[Place, Reason]:
        found: dict[Place, Reason] = {}
        for run, mine in (await self._walk.written_by(runs)).items():
            self._reached.written[run] = set(mine)
            for place in mine:
                found.setdefault(place, Reason(run, runs[run].depth + 1, runs[run].basis))
        return found

    async def _readers(self, places: dict[Place, Reason]) -> dict[RunKey, Reason]:
        """Return the runs that read these places, each with the reason.

        These are the runs that name an item or a content of a place, and those that began while the place was current,
        unless they name another.
        """
        found: dict[RunKey, Reason] = {}
        listed = [(place, writer) for place in places if (writer := self._walk.writer_of(place)) is not None]
        by_item = await store.item_readers(self._connection, [(writer, place.dataset) for place, writer in listed])
        for nr, run in by_item:
            place = listed[nr][0]
            if run != self._walk.writer_of(place):
                self._reached.read.setdefault(run, set()).add(place)
                found.setdefault(run, Reason(place, places[place].depth + 1, places[place].basis))
        readers = await self._walk.readers_of(places)
        named = await store.reads_by_item(self._connection, {run for each in readers.values() for run in each})
        for place, runs in readers.items():
            for run, edge in runs.items():
                if (run, place.dataset) in named:
                    continue
                self._reached.read.setdefault(run, set()).add(place)
                basis = places[place].basis if edge.evidence == "TOLD" else _BY_TIME
                reason = Reason(place, places[place].depth + 1, basis)
                if run not in found or (found[run].basis, reason.basis) == (_BY_TIME, _EXACT):
                    found[run] = reason
        return found

    async def describe(self) -> None:
        """Set `described` from what was found so far."""
        self.described = await _described(self._connection, self)

    def row(self, place: Place) -> run_store.VersionRow | None:
        """The stored version of a place; None if the run that wrote it reported none."""
        return self._walk.versions.get(place.version) if place.version is not None else None

    def writer(self, place: Place) -> RunKey | None:
        """The run that wrote it."""
        return self._walk.writer_of(place)


class WrongRun(msgspec.Struct, frozen=True):
    """A run that is wrong, or read what is wrong. `basis`: `exact`; or `by_time`: somewhere on the way, which version was read is judged by the time
    at which the reader began.
    """

    run_id: str
    job: str
    label: str
    state: str
    started_at: dt.datetime
    depth: int
    basis: str
    because: str | None


class WrongVersion(msgspec.Struct, frozen=True):
    """A version that such a run wrote. `current`: its dataset holds it still. `because`: the run that wrote it; null for what was condemned itself.

    `right_before`: the version in its storage that the dataset could go back to; null if none is known. `columns`: those that may be wrong, in
    lower case; null if all may be.
    """

    dataset: str
    label: str
    version_id: str
    external_version: str | None
    written_at: dt.datetime
    run_id: str | None
    job: str | None
    current: bool
    depth: int
    basis: str
    because: str | None
    right_before: str | None
    columns: list[str] | None


class Repeat(msgspec.Struct, frozen=True):
    """A job to run again, and what for; `after`: jobs of this list that must have run before."""

    job: str
    label: str
    datasets: list[str]
    runs: list[str]
    after: list[str]


class WrongByReads(msgspec.Struct, frozen=True):
    """Everything that is wrong by recorded reads.

    `current`: how many versions their datasets still hold. `unconfirmed`: datasets with later versions that may have
    been added to the wrong one: no event says that they replaced it. `repeat`: in order of execution. `owners`: of the
    datasets that hold a wrong version. `hit`: these datasets with their owners, teams, and the way that led to
    them. `capped`: there may be more.
    """

    runs: list[WrongRun]
    versions: list[WrongVersion]
    current: int
    unconfirmed: list[str]
    repeat: list[Repeat]
    owners: dict[str, list[str]]
    hit: list[HitDataset]
    capped: bool


async def of_incident(
    connection: Connection, origins: Sequence[Origin], makers: Collection[str]
) -> WrongByReads | None:
    """Return what is wrong by recorded reads because of an incident: from its origins, and from the runs (`makers`)
    that made its wrong instances. None if it has no origins. Origins that retention has deleted are skipped."""
    if not origins:
        return None
    search = Search()
    search.begin(connection)
    for origin in origins:
        with contextlib.suppress(NotFound):
            await search.condemn([origin])
    await search.condemn_runs(run_ids(makers))
    await search.describe()
    return search.described


def read_origin(kind: OriginKind, ref: str, columns: Sequence[str] = ()) -> Origin:
    """Return the origin that a person condemned. InvalidQuestion if `ref` is not the id of a version, or no
    fingerprint, or if a content has columns."""
    if kind == "RUN":
        return Origin("RUN", str(version.run_id(ref)[0]), tuple(columns))
    if kind == "VERSION":
        try:
            return Origin("VERSION", str(uuid.UUID(ref)), tuple(columns))
        except ValueError:
            raise InvalidQuestion(
                f"{ref[:100]!r} is not the id of a version; `headwater run lineage` shows them", field="ref"
            ) from None
    if (fingerprint := version.fingerprint(ref)) is None:
        raise InvalidQuestion(f"{ref[:100]!r} is no fingerprint; `headwater fingerprint FILE` prints one", field="ref")
    if columns:
        raise InvalidQuestion("columns are of a run or a version; a content is wrong as a whole", field="columns")
    return Origin("CONTENT", fingerprint)


def run_ids(texts: Iterable[str]) -> set[uuid.UUID]:
    """Return those of the runs' names that are ids of events."""
    found = set()
    for text in texts:
        with contextlib.suppress(ValueError):
            found.add(uuid.UUID(text))
    return found


async def _described(connection: Connection, search: Search) -> WrongByReads:
    """The spread in names, with what remaking takes."""
    found = search.found
    rows = await run_store.runs(connection, found.runs, "infinity")
    stored = {row.id for place in found.places if (row := search.row(place)) is not None}
    current = await store.current(connection, stored)
    before = await store.before(connection, current, stored)
    writers = {writer for place in found.places if (writer := search.writer(place)) is not None}
    datasets = {place.dataset for place in found.places}
    names = await node_store.by_ids(connection, {key.job for key in found.runs.keys() | writers} | datasets)
    versions = []
    for place, why in found.places.items():
        row = search.row(place)
        if row is None or place.version is None:
            continue  # its run reported no version: it failed, or has not ended
        writer = search.writer(place)
        versions.append(
            WrongVersion(
                names[place.dataset].node_id,
                short(names[place.dataset].name),
                str(row.id),
                row.external_version or None,
                row.written_at,
                str(writer.run) if writer else None,
                names[writer.job].node_id if writer else None,
                row.id in current,
                why.depth,
                why.basis,
                f"run:{writer.run}" if writer is not None and why.because is not None else None,
                before[row.id].external_version if row.id in before else None,
                sorted(found.columns[place]) if place in found.columns else None,
            )
        )
    runs = [
        WrongRun(
            str(key.run),
            names[key.job].node_id,
            node.short_job(names[key.job].name),
            rows[key].state.name,
            rows[key].began,
            why.depth,
            why.basis,
            names[why.because.dataset].node_id if isinstance(why.because, Place) else None,
        )
        for key, why in found.runs.items()
        if key in rows
    ]
    held = [place for place in found.places if place.version in current]
    contacts = await contacts_of(connection, {place.dataset for place in held})
    return WrongByReads(
        sorted(runs, key=lambda one: (one.depth, one.started_at, one.run_id, one.job)),
        sorted(versions, key=lambda one: (one.depth, one.written_at, one.dataset, one.version_id)),
        len(current),
        await _unconfirmed(connection, search, current, names),
        _repeat(search, held, names),
        {names[id_].node_id: one.owners for id_, one in contacts.items() if one.owners},
        hit_datasets(found, held, contacts, names),
        found.capped,
    )


async def _unconfirmed(
    connection: Connection, search: Search, current: Collection[uuid.UUID], names: Mapping[uuid.UUID, NodeRow]
) -> list[str]:
    replaced = {
        place.version: place.dataset
        for place in search.found.places
        if place.version is not None and search.row(place) is not None and place.version not in current
    }
    found = await store.unconfirmed(connection, replaced.keys())
    return sorted({names[replaced[id_]].node_id for id_ in found})


def _repeat(search: Search, held: Sequence[Place], names: dict[uuid.UUID, NodeRow]) -> list[Repeat]:
    """The jobs whose versions are held, each after those of them that wrote what its runs read. Jobs that need each other go by time."""
    made: dict[uuid.UUID, list[tuple[RunKey, Place]]] = {}
    for place in held:
        if (writer := search.writer(place)) is not None:
            made.setdefault(writer.job, []).append((writer, place))
    after: dict[uuid.UUID, set[uuid.UUID]] = {}
    for job, pairs in made.items():
        read = {place for run, _ in pairs for place in search.found.read.get(run, ())}
        writers = {writer.job for place in read if (writer := search.writer(place)) is not None}
        after[job] = {other for other in writers if other in made and other != job}
    first = {job: min(_written_at(search, place) for _, place in pairs) for job, pairs in made.items()}
    order = _in_order(after, {job: (first[job], names[job].node_id) for job in made})
    return [
        Repeat(
            names[job].node_id,
            node.short_job(names[job].name),
            sorted({names[place.dataset].node_id for _, place in made[job]}),
            sorted({str(key.run) for key, _ in made[job]}),
            sorted(names[other].node_id for other in after[job]),
        )
        for job in order
    ]


def _in_order(after: Mapping[uuid.UUID, set[uuid.UUID]], rank: Mapping[uuid.UUID, Any]) -> list[uuid.UUID]:
    """Return all jobs, each once and after those it needs, the lowest rank first; also if they need each other."""
    before: dict[uuid.UUID, list[uuid.UUID]] = {}
    for job, needed in after.items():
        for other in needed:
            before.setdefault(other, []).append(job)
    waits = {job: len(needed) for job, needed in after.items()}
    ready = [(rank[job], job) for job, count in waits.items() if not count]
    heapq.heapify(ready)
    by_rank = iter(sorted(after, key=rank.__getitem__))
    order: dict[uuid.UUID, None] = {}
    while len(order) < len(after):
        job = heapq.heappop(ready)[1] if ready else next(each for each in by_rank if each not in order)
        if job in order:
            continue
        order[job] = None
        for other in before.get(job, ()):
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (rank[other], other))
    return list(order)


def _written_at(search: Search, place: Place) -> dt.datetime:
    row = search.row(place)
    return row.written_at if row is not None else dt.datetime.max.replace(tzinfo=dt.UTC)
