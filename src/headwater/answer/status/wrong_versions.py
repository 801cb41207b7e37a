"""The runs and versions that used a wrong run, version or content: by recorded reads, with no schedule and no declaration.

A run that read something wrong is wrong, and so is every version that it wrote. The version that a run read is known exactly if its events name a
version, an item or a content; otherwise it is judged by the time at which the run began, and the answer says so (`basis`). A run whose events say
which items of a dataset it read is hit through those only. Computed anew for each question, so what a later run mended is no longer wrong.
"""

import contextlib
import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.declared import declared
from headwater.answer.status.doubted_instances import InstanceDoubts
from headwater.answer.status.instance_pairs import InstancePairs
from headwater.answer.status.wrong_by_reads import WrongByReads, WrongElsewhere, describe
from headwater.answer.status.wrong_columns import Reason, Spread, restricted
from headwater.answer.status.wrong_makers import Made, WrongMakers, scheduled, subtract_instances
from headwater.entities.needs.columns import ALL, Columns, both, named
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import NotFound
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.lineage import column_flow, correlation
from headwater.store.lineage import run_lineage as run_store
from headwater.store.lineage.runs import RunKey
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import InstanceRange, MadeInstances, Origin

_EXACT, _BY_TIME = "exact", "by_time"


class _OfContent(NamedTuple):
    """The readers of a content, by its name, and the versions that are it."""

    readers: dict[RunKey, Reason]
    versions: dict[Place, Reason]


class Search:
    """A spread that can be asked to go on from further runs: those that made instances which are wrong by their schedule. `begin` comes first.

    `by_schedule`: of a run that made several instances, or read a version that holds right ones too, its schedule says which of them used what; the
    caller adds these by `condemn_makers`, and then calls `settle`. `right`: versions that are not wrong, by any run.
    """

    _connection: Connection
    _walk: RunRecords
    _pairs: InstancePairs
    _makers: WrongMakers

    def __init__(
        self,
        *,
        by_schedule: bool = False,
        elsewhere: WrongElsewhere | None = None,
        right: frozenset[Place] = frozenset(),
    ) -> None:
        self._by_schedule, self._elsewhere, self._right = by_schedule, elsewhere, right
        # All readers, and those that used a wrong column: the same if whole versions are wrong.
        self._reached = self.found = Spread()
        self._of_columns: dict[RunKey | Place, Columns] = {}
        # What is wrong only because some instances are that a run made: the versions that it wrote, and the run.
        self._partial: set[Place] = set()
        self._partial_runs: set[RunKey] = set()
        self._waiting: dict[RunKey, Reason] = {}
        # The runs of which a version is what they made of an instance; and instances that are a condemned content.
        self._home_of: dict[Place, set[uuid.UUID]] = {}
        self._of_contents: list[MadeInstances] = []
        self.described: WrongByReads | None = None

    def begin(self, connection: Connection) -> None:
        """Search in this transaction."""
        self._connection = connection
        self.share(RunRecords(connection))

    def share(self, walk: RunRecords) -> None:
        """Use a walk of the same transaction that has met what is to be condemned."""
        self._walk, self._pairs = walk, InstancePairs(self._connection, walk)
        self._makers = WrongMakers(self._pairs)

    def run_ids(self) -> set[uuid.UUID]:
        """The ids of the runs found, but for those that also made instances which are right."""
        return {key.run for key in self.found.runs if key not in self._partial_runs}

    def found_versions(self) -> bool:
        """Return whether any wrong version was found."""
        return bool(self.found.places)

    async def condemn(self, origins: Iterable[Origin]) -> None:
        """Add what is wrong itself, and everyone that used it. NotFound for what is not known."""
        runs: dict[RunKey, Reason] = {}
        places: dict[Place, Reason] = {}
        itself = Reason(None, 0, _EXACT)
        for origin in origins:
            if origin.kind == "RUN":
                keys = (await store.run_keys(self._connection, [id_ := uuid.UUID(origin.ref)])).get(id_, set())
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
                mine = await self._condemn_content(origin.ref)
                runs |= mine.readers
                places |= mine.versions
                self._of_columns |= dict.fromkeys((*mine.readers, *mine.versions), ALL)
        await self._go_on(runs, places)
        await self._restrict()

    async def _condemn_content(self, fingerprint: str) -> _OfContent:
        """Find the versions that are this content, and who read it by its name."""
        nodes = await correlation.of_version(self._connection, fingerprint)
        instances = await store.instances_of_content(self._connection, fingerprint)
        if not nodes and not instances:
            raise NotFound(
                f"no event or report names the content {fingerprint} as read, written or produced",
                fingerprint=fingerprint,
            )
        self._of_contents += instances
        ids = await store.versions_of_contents(self._connection, nodes)
        self._walk.versions |= await run_store.versions(self._connection, ids)
        places = [Place(self._walk.versions[id_].dataset, id_) for id_ in ids if id_ in self._walk.versions]
        readers = await store.content_readers(self._connection, nodes)
        return _OfContent(
            dict.fromkeys(readers, Reason(None, 1, _EXACT)), dict.fromkeys(places, Reason(None, 0, _EXACT))
        )

    async def condemn_places(self, places: Iterable[Place]) -> None:
        """Add versions that the walk has met, and everyone that used them."""
        some = dict.fromkeys(places, Reason(None, 0, _EXACT))
        self._of_columns |= dict.fromkeys(some, ALL)
        await self._go_on({}, some)

    async def condemn_instances(self, made: Made, columns: Mapping[int, Columns]) -> None:
        """Add the versions of datasets that these instances are, and everyone that used them. Nothing else that their runs wrote is wrong.

        `columns`: by entity, the wrong ones; all where it has none.
        """
        found: dict[Place, Reason] = {}
        for run in await self._makers.add(made):
            homes = self._homes(run)
            found |= dict.fromkeys(homes, Reason(None, 0, _EXACT))
            self._restrict_to(homes, run, columns)
            if not self._makers.is_whole(run):
                self._partial |= homes.difference(self._reached.places)
        await self._go_on({}, found)
        await self._restrict()

    async def condemn_makers(self, made: Made, columns: Mapping[int, Columns]) -> None:
        """Add the runs that made these instances from something wrong, all that they wrote, and everyone that used that."""
        whole: dict[RunKey, Reason] = {}
        found: dict[Place, Reason] = {}
        for run in await self._makers.add(made):
            self._homes(run)
            keys = self._pairs.families.get(run, set())
            fresh = dict.fromkeys((key for key in keys if key not in self._reached.runs), Reason(None, 0, _EXACT))
            if self._makers.is_whole(run):
                whole |= fresh | dict.fromkeys(keys & self._partial_runs, Reason(None, 0, _EXACT))
            else:
                written = await self._written(fresh)
                fresh = await self._leave_out_right(run, fresh, written)
                self._reached.runs |= fresh
                self._partial_runs |= fresh.keys()
                self._partial |= written.keys() - self._reached.places.keys()
                found |= written
            self._restrict_to(fresh, run, columns)
        await self._go_on(whole, found)
        await self._restrict()

    async def _leave_out_right(
        self, run: uuid.UUID, keys: dict[RunKey, Reason], written: dict[Place, Reason]
    ) -> dict[RunKey, Reason]:
        """Take from what a run wrote the versions that are its right instances, by their contents. Returns its parts that wrote anything else."""
        right = self._makers.right_contents(run)
        for place in [place for place in written if self._pairs.content(place) in right]:
            del written[place]
        left = {}
        for key, why in keys.items():
            mine = self._reached.written.get(key, set())
            if not mine or mine & written.keys():
                left[key] = why
            self._reached.written[key] = mine & written.keys()
        return left

    def _homes(self, run: uuid.UUID) -> set[Place]:
        """The versions that the wrong instances which a run made are, or may be."""
        homes = self._makers.homes(run)
        for place in homes:
            self._home_of.setdefault(place, set()).add(run)
        return homes

    async def made_instances(self) -> list[MadeInstances]:
        """The instances that the wrong runs made, or that the wrong versions are, in their current versions."""
        makers = await self._load_makers()
        made = await store.made_by_runs(self._connection, [str(run) for run in makers])
        return self._of_contents + self._list_wrong(made, self.found.places.keys() - self._partial)

    def columns_of(self, one: MadeInstances) -> Columns:
        """The wrong columns of wrong instances: those of the versions that they are or may be; all where none of these was found."""
        wrong: Columns = frozenset()
        for place in self._pairs.homes(one) & self.found.places.keys():
            wrong = both(wrong, self.found.columns.get(place, ALL))
        return wrong or ALL

    async def _load_makers(self) -> set[uuid.UUID]:
        """The runs that made instances, among those found and those above them."""
        writers = {writer.run for place in self.found.places if (writer := self._walk.writer_of(place)) is not None}
        return {maker for some in (await self._pairs.load_above(writers | self.run_ids())).values() for maker in some}

    def _list_wrong(self, made: Iterable[MadeInstances], wrong: Collection[Place]) -> list[MadeInstances]:
        """Those of these instances that runs made which are wrong as a whole, or that may be one of these versions."""
        whole, found = self.run_ids(), []
        for one in made:
            run, homes = uuid.UUID(one.run), self._pairs.homes(one)
            family = {key.run for key in self._pairs.families.get(run, ())}
            if run in whole or not homes.isdisjoint(wrong) or (not homes and not family.isdisjoint(whole)):
                found.append(one)
        return found

    def right_homes(self, wrong: Collection[str]) -> frozenset[Place]:
        """The versions that are instances of which no run of `wrong` made the current one."""
        ids = version.run_ids(wrong)
        return frozenset(place for place, runs in self._home_of.items() if not runs & ids)

    def _restrict_to(self, some: Iterable[RunKey | Place], run: uuid.UUID, columns: Mapping[int, Columns]) -> None:
        wrong: Columns = frozenset()
        for entity in self._makers.entities(run):
            wrong = both(wrong, columns.get(entity, ALL))
        for each in some:
            self._of_columns[each] = both(self._of_columns.get(each, frozenset()), wrong)

    async def made_again(self, since: dt.datetime) -> set[Place]:
        """The places found whose content a run wrote again that began then or later, and is not wrong."""
        places = {place.version: place for place in self.found.places if place.version is not None}
        ids = await store.made_again(self._connection, places.keys(), since, {key.run for key in self.found.runs})
        return {places[id_] for id_ in ids}

    async def settle(self) -> None:
        """Add the readers whose schedules were to say which of their instances used what is wrong, and say of none."""
        await self._go_on({run: why for run, why in self._waiting.items() if run not in self._reached.runs}, {})
        self._waiting.clear()
        await self._restrict()

    async def follow_roots(self, roots: Made, within: Mapping[int, Ordinals]) -> None:
        """Add the runs that used these instances, of which some were made again since, among those in `within`."""
        doubts = InstanceDoubts(self._connection, await declared(self._connection), [], within)
        roots = list(roots)
        await doubts.follow_made(roots)
        await self.condemn_makers(subtract_instances(doubts.list_made(), roots), {})

    async def follow_instances(self) -> None:
        """Add the runs that used an instance which the runs found so far made, in any version: one that was replaced may have been read before."""
        doubts = InstanceDoubts(self._connection, await declared(self._connection), [])
        while True:
            before = self.run_ids()
            made = [one for run in await self._load_makers() for one in self._pairs.made_by(run)]
            of_whole = self.found.places.keys() - self._partial - self.found.columns.keys()
            wrong = [(one.run, one.some) for one in self._list_wrong(made, of_whole)]
            await doubts.follow_made(wrong)
            await self.condemn_makers(subtract_instances(doubts.list_made(), wrong), {})
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
            self._complete(runs.keys() & self._partial_runs)
            new_runs = {key: why for key, why in runs.items() if key not in self._reached.runs and self._reached.room()}
            self._reached.runs |= new_runs
            places = places | await self._written(new_runs)
            new_places = {
                at: why
                for at, why in places.items()
                if at not in self._reached.places and at not in self._right and self._reached.room()
            }
            self._reached.places |= new_places
            runs, places = await self._readers(new_places), {}

    def _complete(self, runs: Collection[RunKey]) -> None:
        """Forget that these runs were wrong in part: as a whole they are met anew, with what they wrote."""
        self._partial_runs.difference_update(runs)
        for run in runs:
            del self._reached.runs[run]
            for place in self._partial.intersection(self._reached.written.get(run, ())):
                self._partial.discard(place)
                self._reached.places.pop(place, None)

    async def _written(self, runs: dict[RunKey, Reason]) -> dict[Place, Reason]:
        found: dict[Place, Reason] = {}
        for run, mine in (await self._walk.written_by(runs)).items():
            self._reached.written[run] = mine.keys() - self._right
            for place in self._reached.written[run]:
                found.setdefault(place, Reason(run, runs[run].depth + 1, runs[run].basis))
        return found

    async def _readers(self, places: dict[Place, Reason]) -> dict[RunKey, Reason]:
        """Return the runs that read these places, each with the reason.

        These are the runs that name an item or a content of a place, and those that began while the place was current,
        unless they name another.
        """
        found: dict[RunKey, Reason] = {}
        listed = [(place, writer) for place in places if (writer := self._walk.writer_of(place)) is not None]
        by_item = await store.item_readers(
            self._connection, [(writer, place.dataset, self._pairs.content(place)) for place, writer in listed]
        )
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
        return await self._without_scheduled(found, places) if self._by_schedule and found else found

    async def _without_scheduled(
        self, found: dict[RunKey, Reason], places: Mapping[Place, Reason]
    ) -> dict[RunKey, Reason]:
        """Leave out readers of instances whose schedules say better what they used: if right instances are in the same version; and, until `settle`,
        if they made several."""
        writers = {place: writer.run for place in places if (writer := self._walk.writer_of(place)) is not None}
        known = await scheduled(self._connection, {*(run.run for run in found), *writers.values()})
        left = {}
        for run, why in found.items():
            mine, read = known.get(run.run), self._reached.read[run] & places.keys()
            needed = {
                place
                for place in read
                if mine is not None and place in writers and writers[place] in known
                if mine.upstream & known[writers[place]].made.keys()
            }
            if mine is None or read - needed or (needed - self._partial and mine.instances == 1):
                left[run] = why
            elif needed - self._partial:
                self._waiting.setdefault(run, why)
        return left

    async def describe(self, entities: Mapping[int, str] | None = None, right: frozenset[Place] = frozenset()) -> None:
        """Set `described` from what was found so far; with the names of `entities`, say also how jobs can be run again. `right`: versions that are
        held no longer."""
        self.described = await describe(
            self._connection, self._walk, self.found, entities=entities, right=right, elsewhere=self._elsewhere
        )


class WrongInstances(NamedTuple):
    """The instances of an incident, each with the run that made it. `named`: those that the incident is about, in the versions of its opening;
    `tainted`: those of them that are wrong still; `inherited`: what is wrong because it used them. `within`: all that are wrong or were, by entity.
    `columns`: by entity, the wrong ones. `replaced`: some wrong version was made again.
    """

    named: list[tuple[str, InstanceRange]]
    tainted: list[tuple[str, InstanceRange]]
    inherited: list[tuple[str, InstanceRange]]
    within: dict[int, Ordinals]
    columns: dict[int, Columns]
    replaced: bool


async def of_incident(
    connection: Connection,
    origins: Sequence[Origin],
    instances: WrongInstances,
    entities: Mapping[int, str] | None,
    *,
    fixed_at: dt.datetime | None = None,
    elsewhere: WrongElsewhere | None = None,
) -> WrongByReads | None:
    """Return what is wrong by recorded reads because of an incident: from its origins, and from the runs that made its wrong instances. None if it
    has no origins and no such run wrote a version. Origins that retention has deleted are skipped.

    A version whose content was made again by a run that began after the cause was fixed (`fixed_at`) was right all along, and so is what used it.
    """
    confirmed: set[Place] = set()
    while True:
        search = Search(by_schedule=True, elsewhere=elsewhere, right=frozenset(confirmed))
        search.begin(connection)
        await _spread(search, origins, instances)
        again = set[Place]() if fixed_at is None else await search.made_again(fixed_at)
        if again <= confirmed:
            break
        confirmed |= again
    if origins or search.found.places:
        # Without origins the verdict is on instances: the version of a right one is held no longer, also without an event.
        right = (
            frozenset[Place]()
            if origins
            else search.right_homes({run for run, _ in (*instances.tainted, *instances.inherited)})
        )
        await search.describe(entities, right)
    return search.described


async def _spread(search: Search, origins: Iterable[Origin], instances: WrongInstances) -> None:
    await search.condemn_makers(instances.inherited, instances.columns)
    for origin in origins:
        with contextlib.suppress(NotFound):
            await search.condemn([origin])
    await search.condemn_instances(instances.named, instances.columns)
    if instances.replaced:
        await search.follow_roots(instances.named, instances.within)
    await search.settle()
    await search.follow_instances()
    await search.settle()
