"""The versions that runs read and wrote, as their events say: links for the walk. Judges nothing, names nothing.

The version that a run read is the one it names (a `version` facet or an Iceberg scan), else the one that was current
when it began. A fixed number of statements for any number of runs and versions.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Collection, Mapping

import msgspec

from headwater.answer.lineage import node, run_log
from headwater.answer.lineage.walk import Key, Link, Place, Step, Walk
from headwater.model import facets as known
from headwater.store.database import Connection
from headwater.store.lineage import run_lineage as store
from headwater.store.lineage.run_lineage import Use, VersionRow
from headwater.store.lineage.runs import RunKey, RunRow
from headwater.store.status import wrong_versions as item_store

# Limits on runs that may have read a version, by job: before the next version, and after it (these may name the older one).
_READERS, _LATER = 200, 3
_WROTE = Link("WROTE", "TOLD")
_WRITTEN = {declared: Link("WROTE", "TOLD", declared) for declared in (False, True)}
_FOUND = Link("READ", "DERIVED")


class RunRecords:
    """`rows`, `versions`: what was loaded. `unchecked`: versions and jobs with more readers than were looked at.

    `by_item`: a run that names the items which it read of a dataset has read nothing else of it; its items are links of their own
    (`item_records.py`).
    """

    def __init__(self, connection: Connection, as_of: dt.datetime | None = None, *, by_item: bool = False) -> None:
        self.connection, self._by_item = connection, by_item
        self.as_of: dt.datetime | str = as_of or "infinity"
        self.rows: dict[RunKey, RunRow] = {}
        self.versions: dict[uuid.UUID, VersionRow] = {}
        # Datasets that were looked at for versions with names in their storage or of streams, and those that have some.
        self.checked: set[uuid.UUID] = set()
        self.special: set[uuid.UUID] = set()
        self.unchecked = 0
        self._read_by: dict[RunKey, dict[Place, Link]] = {}
        self._written_by: dict[RunKey, dict[Place, Link]] = {}
        # Each run under the one key by which it is looked up: equal ones are compared in Python.
        self._writers: dict[Place, RunKey] = {}

    async def load_runs(self, keys: Collection[RunKey]) -> list[RunKey]:
        """Load the rows of these runs; return the runs that exist as of the time."""
        if new := [key for key in keys if key not in self.rows]:
            self.rows |= await store.runs(self.connection, new, self.as_of)
        return [key for key in keys if key in self.rows]

    async def read_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Link]]:
        """Return for each run the version of each of its inputs that it read; each run is asked about once."""
        if new := [key for key in dict.fromkeys(keys) if key not in self._read_by]:
            self._read_by |= {key: {} for key in new} | await self._load_reads(new)
        return {key: mine for key in keys if (mine := self._read_by[key])}

    async def _load_reads(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Link]]:
        runs = await self.load_runs(keys)
        uses = await store.datasets(self.connection, runs, "in", self.as_of)
        if self._by_item and uses:
            items = await item_store.reads_by_item(self.connection, {use.run for use in uses})
            uses = [use for use in uses if (use.run, use.dataset) not in items]
        found = await store.versions_at_start(
            self.connection, [(use.run, use.dataset, self.rows[use.run].began) for use in uses]
        )
        log = await run_log.load(self.connection, [self.rows[key] for key in await self._naming(uses, found)])
        named = {
            (use.run, use.dataset): text
            for use in uses
            if (text := named_version(log.get((use.run.run, use.run.job)), use.dataset))
        }
        told = await store.versions_named(
            self.connection, [(d, text, self.rows[run].began) for (run, d), text in named.items()], self.as_of
        )
        met = {version for one in found.values() for version in one} | set(told.values())
        self.versions |= await store.versions(self.connection, met - self.versions.keys())
        places: dict[RunKey, dict[Place, Link]] = {}
        for use in uses:
            text = named.get((use.run, use.dataset), "")
            asked = told.get((use.dataset, text, self.rows[use.run].began)) if text else None
            places.setdefault(use.run, {}).update(self._read(use, text, asked, found.get((use.run, use.dataset), {})))
        return places

    async def _naming(
        self, uses: Collection[Use], found: Mapping[tuple[RunKey, uuid.UUID], Collection[uuid.UUID]]
    ) -> list[RunKey]:
        """The runs whose events may name a version that matters: where the dataset has versions with names, or no version is known."""
        await self._check_versions({use.dataset for use in uses})
        return sorted({use.run for use in uses if use.dataset in self.special or not found.get((use.run, use.dataset))})

    async def _check_versions(self, datasets: Collection[uuid.UUID]) -> None:
        """Set `special` for these datasets; each is looked at once."""
        if new := set(datasets) - self.checked:
            self.special |= await store.with_special_versions(self.connection, new)
            self.checked |= new

    def _read(
        self, use: Use, text: str, asked: uuid.UUID | None, derived: dict[uuid.UUID, list[str]]
    ) -> dict[Place, Link]:
        """Return the versions that a use read. The version that the run names takes precedence over the one that its
        time implies; a name that contradicts the time stands for a version that was not written here."""
        if asked is not None:
            return {Place(use.dataset, asked): Link("READ", "TOLD", use.declared, use.parts)}
        if text:
            derived = {v: parts for v, parts in derived.items() if not self.versions[v].external_version}
        if derived:
            return {
                Place(use.dataset, v): Link("READ", "DERIVED", use.declared, tuple(parts))
                for v, parts in derived.items()
            }
        evidence = "TOLD" if text else "UNKNOWN"
        return {Place(use.dataset, None, text): Link("READ", evidence, use.declared, use.parts)}

    async def written_by(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Link]]:
        """Return for each run the versions that it wrote; each run is asked about once."""
        if new := [key for key in dict.fromkeys(keys) if key not in self._written_by]:
            self._written_by |= {key: {} for key in new} | await self._load_writes(new)
        return {key: mine for key in keys if (mine := self._written_by[key])}

    async def _load_writes(self, keys: Collection[RunKey]) -> dict[RunKey, dict[Place, Link]]:
        runs = await self.load_runs(keys)
        written = await store.datasets(self.connection, runs, "out", self.as_of, beside_versions=True)
        uses = {(use.run, use.dataset): use for use in written}
        found: dict[RunKey, dict[Place, Link]] = {}
        versioned = set()
        for writer, row in await store.versions_written(self.connection, runs, self.as_of):
            self.versions[row.id] = row
            versioned.add((writer, row.dataset))
            use = uses.get((writer, row.dataset)) if uses else None
            edge = Link("WROTE", "TOLD", row.declared, use.parts) if use else _WRITTEN[row.declared]
            place = Place(row.dataset, row.id)
            found.setdefault(writer, {})[place], self._writers[place] = edge, writer
        for (run, dataset), use in uses.items():
            if (run, dataset) not in versioned:
                edge = Link("WROTE", "UNKNOWN", use.declared, use.parts)
                found.setdefault(run, {})[Place(dataset, None, writer=run)] = edge
        return found

    async def readers_of(self, places: Collection[Place]) -> dict[Place, dict[RunKey, Link]]:
        """Return the runs that read these versions; a possible reader is checked against what it read, unless it can have found nothing else."""
        asked = [place for place in dict.fromkeys(places) if place.version is not None]
        rows = await store.readers(
            self.connection,
            [place.version for place in asked if place.version],
            self.as_of,
            most=_READERS,
            later=_LATER,
        )
        counts = Counter((nr, run.job) for nr, run, _ in rows)
        self.unchecked += sum(count > _READERS for count in counts.values())
        await self._check_versions({asked[nr].dataset for nr, _, _ in rows})
        found: dict[Place, dict[RunKey, Link]] = {}
        doubtful: set[RunKey] = set()
        for nr, run, sure in rows:
            if sure and asked[nr].dataset not in self.special:
                found.setdefault(asked[nr], {})[run] = _FOUND
            else:
                doubtful.add(run)
        if self._by_item and found:
            items = await item_store.reads_by_item(self.connection, {run for some in found.values() for run in some})
            found = {
                place: {run: link for run, link in some.items() if (run, place.dataset) not in items}
                for place, some in found.items()
            }
        await self.load_runs({run for _, run, _ in rows})
        ids = {place.version for place in asked}
        for run, mine in (await self.read_by(doubtful)).items():
            for place, link in mine.items():
                if place.version in ids:
                    found.setdefault(place, {})[run] = link
        return found

    async def expand(self, keys: Collection[Key], direction: str, steps: int) -> list[Step]:
        """The links of these runs and versions: to what they were made from (`upstream`), or to what was made from them."""
        runs = {key for key in keys if isinstance(key, RunKey)}
        places = [key for key in keys if isinstance(key, Place)]
        if direction == "downstream":
            written = (await self.written_by(runs)).items()
            found: list[Step] = [(run, place, link) for run, mine in written for place, link in mine.items()]
            for place, readers in (await self.readers_of(places)).items():
                found += [(place, run, link) for run, link in sorted(readers.items())]
            return found
        found = [(place, run, link) for run, mine in (await self.read_by(runs)).items() for place, link in mine.items()]
        writers = {place: writer for place in places if (writer := self.writer_of(place)) is not None}
        known = set(await self.load_runs(set(writers.values())))
        return found + [(writer, place, _WROTE) for place, writer in writers.items() if writer in known]

    def writer_of(self, place: Place) -> RunKey | None:
        """The run that wrote it; None if none is known."""
        if place.version is None or (writer := self._writers.get(place)) is None:
            return place.writer if place.version is None else self.versions[place.version].writer
        return writer

    async def join_writers(self, walk: Walk) -> None:
        """Tie every version of an answer to the run that wrote it, if that is part of the answer too, as its events say."""
        writers = {self.writer_of(key) for key in walk.steps if isinstance(key, Place)} & walk.steps.keys()
        for run, mine in (await self.written_by([key for key in writers if isinstance(key, RunKey)])).items():
            walk.links |= {(run, place): link for place, link in mine.items() if place in walk.steps}


def named_version(facets: run_log.RunFacets | None, dataset: uuid.UUID) -> str:
    """The version of an input that the run names; empty if it names none."""
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
