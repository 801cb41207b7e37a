"""The runs and versions that used a wrong run, version or content: by recorded reads, with no schedule and no
declaration.

A run that read something wrong is wrong, and so is every version that it wrote. The version that a run read is known
exactly if its events name a version, an item or a content; otherwise it is judged by the time at which the run began,
and the answer says so (`basis`). A run whose events say which items of a dataset it read is hit through those only.
Computed anew for each question, so what a later run mended is no longer wrong.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence

from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.declared import declared
from headwater.answer.status.doubted_instances import InstanceDoubts
from headwater.answer.status.wrong_by_reads import WrongByReads, describe
from headwater.answer.status.wrong_columns import Reason, Spread, restricted
from headwater.entities.needs.columns import ALL, Columns, named
from headwater.errors import InvalidQuestion, NotFound
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.lineage import column_flow, correlation
from headwater.store.lineage import run_lineage as run_store
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

    async def follow_instances(self) -> None:
        """Add the runs that used an instance which the runs found so far made, in any version: one that was replaced may have been read before."""
        doubts = InstanceDoubts(self._connection, await declared(self._connection), [])
        while True:
            before = self.run_ids()
            await doubts.follow({str(run) for run in before})
            await self.condemn_runs(run_ids(doubts.runs) - before)
            if self.run_ids() == before:
                return

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

    async def describe(self, entities: Mapping[int, str] | None = None) -> None:
        """Set `described` from what was found so far; with the names of `entities`, say also how jobs can be run again."""
        self.described = await describe(self._connection, self._walk, self.found, entities=entities)


async def of_incident(
    connection: Connection, origins: Sequence[Origin], makers: Collection[str], entities: Mapping[int, str] | None
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
    await search.follow_instances()
    await search.describe(entities)
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
