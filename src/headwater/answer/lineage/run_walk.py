"""Walk from runs to the versions that they read and wrote, and from versions to the runs that wrote and read them. Judges nothing, names nothing.

Which version was read: the one the run names, where it names one (a `version` facet or an Iceberg scan), else the one there was when it began.
Walks level by level with a fixed number of statements for each.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.model import facets as known
from headwater.store.database import Connection
from headwater.store.lineage import run_lineage as store
from headwater.store.lineage.run_lineage import RunKey, Use, VersionRow
from headwater.store.lineage.runs import RunRow

# Limits on runs that may have read a version, by job: before the next version, and after it (these may name the older one).
_READERS, _LATER = 200, 3


class Place(msgspec.Struct, frozen=True):
    """A version in the walk: one that is known by its id, or what one run alone says it read or wrote."""

    dataset: uuid.UUID
    version: uuid.UUID | None
    external: str = ""
    # The only run that reports it, if a run wrote it without a version.
    writer: RunKey | None = None


Key = RunKey | Place


class Edge(msgspec.Struct, frozen=True):
    relation: str
    evidence: str
    declared: bool
    parts: tuple[str, ...]


class RunWalk:
    """`depth` counts versions; `max_nodes`: of runs and versions together. `hops`: the distance of every node met; `edges`: between them;
    `beyond`: neighbours that the depth left out; `capped`: those that `max_nodes` did; `unchecked`: versions and jobs with more readers than
    were looked at.
    """

    def __init__(self, connection: Connection, depth: int, max_nodes: int, as_of: dt.datetime | None = None) -> None:
        self.connection, self.depth, self.max_nodes = connection, depth, max_nodes
        self.as_of: dt.datetime | str = as_of or "infinity"
        self.hops: dict[Key, int] = {}
        self.rows: dict[RunKey, RunRow] = {}
        self.versions: dict[uuid.UUID, VersionRow] = {}
        self.edges: dict[tuple[Key, Key], Edge] = {}
        self.beyond: dict[str, dict[Key, set[Key]]] = {"upstream": {}, "downstream": {}}
        self.capped: set[Key] = set()
        # Datasets that were looked at for versions with names in their storage, and those that have some.
        self.checked: set[uuid.UUID] = set()
        self.named: set[uuid.UUID] = set()
        self.unchecked = 0

    def enter(self, key: Key, hop: int) -> bool:
        """Whether the node is part of the answer."""
        if key not in self.hops:
            if len(self.hops) >= self.max_nodes:
                self.capped.add(key)
                return False
            self.hops[key] = hop
        return True

    async def load_runs(self, keys: Collection[RunKey]) -> list[RunKey]:
        """Load the rows of these runs; return the runs that exist as of the time."""
        self.rows |= await store.runs(self.connection, set(keys) - self.rows.keys(), self.as_of)
        return sorted(key for key in keys if key in self.rows)

    async def read_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Edge]]:
        """Which version of each of its inputs each run read."""
        runs = await self.load_runs(keys)
        uses = await store.datasets(self.connection, runs, "in", self.as_of)
        found = await store.versions_at_start(
            self.connection, [(use.run, use.dataset, self.rows[use.run].began) for use in uses]
        )
        log = await run_log.load(self.connection, [self.rows[key] for key in await self._naming(uses, found)])
        named = {(use.run, use.dataset): text for use in uses if (text := _named(log.get(use.run), use.dataset))}
        told = await store.versions_named(
            self.connection, [(d, text, self.rows[run].began) for (run, d), text in named.items()], self.as_of
        )
        met = {version for one in found.values() for version in one} | set(told.values())
        self.versions |= await store.versions(self.connection, met - self.versions.keys())
        places: dict[RunKey, dict[Place, Edge]] = {}
        for use in uses:
            text = named.get((use.run, use.dataset), "")
            asked = told.get((use.dataset, text, self.rows[use.run].began)) if text else None
            places.setdefault(use.run, {}).update(self._read(use, text, asked, found.get((use.run, use.dataset), {})))
        return places

    async def _naming(
        self, uses: Collection[Use], found: Mapping[tuple[RunKey, uuid.UUID], Collection[uuid.UUID]]
    ) -> list[RunKey]:
        """The runs whose events may name a version that matters: where the dataset has versions with names, or no version is known."""
        self.named |= await store.with_named_versions(self.connection, {use.dataset for use in uses} - self.checked)
        self.checked |= {use.dataset for use in uses}
        return sorted({use.run for use in uses if use.dataset in self.named or not found.get((use.run, use.dataset))})

    def _read(
        self, use: Use, text: str, asked: uuid.UUID | None, derived: dict[uuid.UUID, list[str]]
    ) -> dict[Place, Edge]:
        """What the run names goes before what the time says; a name that contradicts the time stands for a version that was not written here."""
        if asked is not None:
            return {Place(use.dataset, asked): Edge("READ", "TOLD", use.declared, use.parts)}
        if text:
            derived = {v: parts for v, parts in derived.items() if not self.versions[v].external_version}
        if derived:
            return {
                Place(use.dataset, v): Edge("READ", "DERIVED", use.declared, tuple(parts))
                for v, parts in derived.items()
            }
        evidence = "TOLD" if text else "UNKNOWN"
        return {Place(use.dataset, None, text): Edge("READ", evidence, use.declared, use.parts)}

    async def written_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Edge]]:
        """What each run left behind."""
        runs = await self.load_runs(keys)
        uses = {(use.run, use.dataset): use for use in await store.datasets(self.connection, runs, "out", self.as_of)}
        found: dict[RunKey, dict[Place, Edge]] = {}
        versioned = set()
        for row in await store.versions_written(self.connection, runs, self.as_of):
            self.versions[row.id] = row
            if row.writer is not None:
                versioned.add((row.writer, row.dataset))
                use = uses.get((row.writer, row.dataset))
                edge = Edge("WROTE", "TOLD", row.declared, use.parts if use else ())
                found.setdefault(row.writer, {})[Place(row.dataset, row.id)] = edge
        for (run, dataset), use in uses.items():
            if (run, dataset) not in versioned:
                edge = Edge("WROTE", "UNKNOWN", use.declared, use.parts)
                found.setdefault(run, {})[Place(dataset, None, writer=run)] = edge
        return found

    async def readers_of(self, places: Collection[Place]) -> dict[Place, dict[RunKey, Edge]]:
        """Which runs read these versions: those in question are asked what they read."""
        ids = {place.version for place in places if place.version is not None}
        asked = await store.readers(self.connection, ids, self.as_of, most=_READERS, later=_LATER)
        counts: dict[tuple[uuid.UUID, uuid.UUID], int] = {}
        for version, (_, job) in asked:
            counts[version, job] = counts.get((version, job), 0) + 1
        self.unchecked += sum(count > _READERS for count in counts.values())
        read = await self.read_by({run for _, run in asked})
        found: dict[Place, dict[RunKey, Edge]] = {}
        for run, mine in read.items():
            for place, edge in mine.items():
                if place.version in ids:
                    found.setdefault(place, {})[run] = edge
        return found

    def keep(self, source: Key, target: Key, edge: Edge) -> None:
        self.edges.setdefault((source, target), edge)

    async def up(self, runs: set[RunKey]) -> None:
        """Enter what these runs were made from."""
        seen = set(runs)
        for hop in range(1, self.depth + 1):
            writers: set[RunKey] = set()
            for run, mine in (await self.read_by(runs)).items():
                for place, edge in mine.items():
                    if not self.enter(place, -hop):
                        continue
                    self.keep(place, run, edge)
                    writer = self.writer_of(place)
                    if writer is not None:
                        writers.add(writer)
                        self.beyond["upstream"].setdefault(place, set()).add(writer)
            await self.load_runs(writers)
            runs = set()
            if hop < self.depth:
                for writer in sorted(writers & self.rows.keys() - seen):
                    seen.add(writer)
                    if self.enter(writer, -hop - 1):
                        runs.add(writer)
            if not runs:
                break
        await self._join_writers()

    async def _join_writers(self) -> None:
        """Every version of the answer is tied to the run that wrote it, if that is part of the answer too."""
        writers = {
            writer for key in self.hops if isinstance(key, Place) and (writer := self.writer_of(key)) in self.hops
        }
        for run, mine in (await self.written_by([key for key in writers if key is not None])).items():
            for place, edge in mine.items():
                if place in self.hops:
                    self.keep(run, place, edge)

    def writer_of(self, place: Place) -> RunKey | None:
        return place.writer if place.version is None else self.versions[place.version].writer

    async def down(self, runs: set[RunKey]) -> None:
        """Enter what was made from these runs."""
        seen = set(runs)
        places: set[Place] = set()
        for hop in range(1, self.depth + 1):
            places = set()
            for run, written in (await self.written_by(runs)).items():
                for place, edge in written.items():
                    if self.enter(place, hop):
                        self.keep(run, place, edge)
                        places.add(place)
            if hop == self.depth or not places:
                break
            runs = await self._enter_readers(places, hop + 1) - seen
            seen |= runs
            if not runs:
                return
        for place, readers in (await self.readers_of(places)).items():
            for run, edge in readers.items():
                if run in self.hops:
                    self.keep(place, run, edge)
                else:
                    self.beyond["downstream"].setdefault(place, set()).add(run)

    async def _enter_readers(self, places: set[Place], hop: int) -> set[RunKey]:
        """The readers of these versions that are part of the answer."""
        found: set[RunKey] = set()
        readers = await self.readers_of(places)
        for place in sorted(readers, key=lambda place: str(place.version)):
            for run, edge in sorted(readers[place].items()):
                if self.enter(run, hop):
                    self.keep(place, run, edge)
                    found.add(run)
        return found


def _named(facets: run_log.RunFacets | None, dataset: uuid.UUID) -> str:
    """The version of an input that the run names; empty where it names none."""
    mine = facets.inputs.get(dataset) if facets else None
    if mine is None:
        return ""
    snapshot = node.plain(mine.here.get("icebergScanReport")).get("snapshotId")
    if snapshot is not None and snapshot != "":
        return str(snapshot)
    try:
        return known.external_version(mine.facets["version"]) if "version" in mine.facets else ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
