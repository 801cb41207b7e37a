"""Instances doubted by checks, and what used them: by recorded reads where a version has them, by schedule where it has none.

A version of an instance is doubted if the run that made it wrote a doubted version of a dataset, or if it used a doubted version of another instance:
by the record of what it read; without a record, if the needs name that instance and the doubted version was the current one when the run began.
So an instance that was made again from good ones is no longer doubted. What a person trusted since the check is left out, with what only that led to.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.answer.status.declared import declared
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.graph import Link
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.store.database import Connection
from headwater.store.status import checks as check_store
from headwater.store.status import status as store
from headwater.store.status import wrong_versions as run_store
from headwater.store.status.status import Version, Window

_Trusted = tuple[int, int, int, dt.datetime]
_Counts = Callable[[Version], bool]


class DoubtedInstances(NamedTuple):
    """The doubted instances of one entity: as ordinals and as texts. `since`: when the first of them was made. `runs`: those that made them."""

    entity: str
    ordinals: Ordinals
    instances: list[str]
    since: dt.datetime
    owners: list[str]
    runs: frozenset[str]


class InstanceDoubts:
    """The doubted versions of instances, found from what runs made: `follow_made` may be called again with more. `within`: only these instances."""

    def __init__(
        self,
        connection: Connection,
        held: StoredDeclarations,
        trusted: Sequence[_Trusted],
        within: Mapping[int, Ordinals] | None = None,
    ) -> None:
        self._connection, self._held, self._trusted, self._within = connection, held, trusted, within
        self._of: dict[int, list[Version]] = {}
        self._began: dict[tuple[int, str], dt.datetime] = {}
        self._read: dict[int, list[store.Read]] = {}
        self._doubted: dict[Version, Ordinals] = {}

    @classmethod
    async def load(cls, connection: Connection, since: dt.datetime) -> "InstanceDoubts":
        """Read the declarations, and what people trusted since a check failed."""
        held = await declared(connection)
        return cls(connection, held, await check_store.trusted(connection, since) if held.declared else [])

    def list_made(self) -> list[tuple[str, run_store.InstanceRange]]:
        """The doubted instances, each with the run that made it."""
        return [
            (version.run, run_store.InstanceRange(version.entity_id, start, end))
            for version, some in self._doubted.items()
            if version.run
            for start, end in some
        ]

    async def follow_made(self, made: Sequence[tuple[str, run_store.InstanceRange]]) -> None:
        """Add the versions of these instances that these runs made, and what used them."""
        if not self._held.declared or not made:
            return
        await self._load([(some.entity_id, some.start_, some.end_) for _, some in made])
        wanted: dict[tuple[int, str], Ordinals] = {}
        for run, one in made:
            key = one.entity_id, run
            wanted[key] = wanted.get(key, NONE) | Ordinals.between(one.start_, one.end_)
        fresh = {
            version: Ordinals.between(version.start_, version.end_) & wanted[version.entity_id, version.run]
            for each in self._of.values()
            for version in each
            if (version.entity_id, version.run) in wanted
        }
        while fresh := self._add(fresh):
            await self._load(
                [
                    (self._held.number(link.downstream), used.first, used.end)
                    for version, some in fresh.items()
                    for link, used in self._needing(version, some)
                    if used
                ]
            )
            await self._load_readers(fresh)
            found: dict[Version, Ordinals] = {}
            for version, some in fresh.items():
                for user, used in self._users(version, some):
                    found[user] = found.get(user, NONE) | used
            fresh = found

    def _add(self, fresh: Mapping[Version, Ordinals]) -> dict[Version, Ordinals]:
        new: dict[Version, Ordinals] = {}
        for version, some in fresh.items():
            left = some - self._trusted_of(version) - self._doubted.get(version, NONE)
            if self._within is not None:
                left &= self._within.get(version.entity_id, NONE)
            if left and version.entity_id in self._held.names:
                self._doubted[version] = self._doubted.get(version, NONE) | left
                new[version] = left
        return new

    def _trusted_of(self, version: Version) -> Ordinals:
        """The instances of a version that a person trusted after it was made."""
        return NONE.union(
            *(
                Ordinals.between(start, end)
                for entity_id, start, end, at in self._trusted
                if entity_id == version.entity_id and at >= version.produced_at
            )
        )

    def _needing(self, version: Version, some: Ordinals) -> Iterator[tuple[Link, Ordinals]]:
        """The instances that need these by a link, existing or not."""
        for link in self._held.graph.downstream(self._held.names[version.entity_id]):
            every = self._held.graph.every(link.downstream)
            if link.carried:
                yield link, every & Ordinals.between(some.first + 1, max(every.end, some.first + 1))
            else:
                yield link, link.edge.affected(some, every) if link.edge is not None else every

    def _users(self, version: Version, some: Ordinals) -> Iterator[tuple[Version, Ordinals]]:
        """The versions that used these instances of a version."""
        for each in self._of.values():
            for user in each:
                if user.complete and self._has_read(user, version, some):
                    yield user, Ordinals.between(user.start_, user.end_)
        for link, needing in self._needing(version, some):
            for user in self._of.get(self._held.number(link.downstream), ()):
                mine = Ordinals.between(user.start_, user.end_) & needing
                if user.complete or not mine or user == version:
                    continue
                began = self._began.get((user.entity_id, user.run), user.produced_at)
                left = self._current_at(version, some, began)
                if not left:
                    continue
                if link.carried:
                    yield user, mine & Ordinals.between(left.first + 1, max(mine.end, left.first + 1))
                else:
                    yield user, link.edge.affected(left, mine) if link.edge is not None else mine

    def _has_read(self, user: Version, version: Version, some: Ordinals) -> bool:
        return any(
            left & Ordinals.between(read.start_, read.end_)
            for read in self._read.get(user.seq, ())
            if read.upstream_id == version.entity_id
            and version.seq <= read.read_seq
            and (left := some - self._later(version, lambda other, read=read: other.seq <= read.read_seq))  # type: ignore[misc]
        )

    def _current_at(self, version: Version, some: Ordinals, at: dt.datetime) -> Ordinals:
        """Those of these instances of which the version was the current one at a time."""
        if version.produced_at > at:
            return NONE
        return some - self._later(version, lambda other: other.produced_at <= at)

    def _later(self, version: Version, counts: _Counts) -> Ordinals:
        """The instances of later versions that count."""
        return NONE.union(
            *(
                Ordinals.between(other.start_, other.end_)
                for other in self._of.get(version.entity_id, ())
                if (other.produced_at, other.seq) > (version.produced_at, version.seq) and counts(other)
            )
        )

    async def _load(self, windows: Iterable[Window]) -> None:
        """Load the versions in these windows, when their runs began, and what they read."""
        known = {version for some in self._of.values() for version in some}
        wanted = [window for window in dict.fromkeys(windows) if window[0] in self._held.names]
        new = [each for each in await store.versions(self._connection, wanted, 2**62) if each not in known]
        for version in new:
            self._of.setdefault(version.entity_id, []).append(version)
        asked = sorted({(version.entity_id, version.run) for version in new if version.run})
        for entity_id, run, what, at, _, _ in await store.runs(self._connection, asked):
            if what == "started":
                self._began[entity_id, run] = min(at, self._began.get((entity_id, run), at))
        for read in await store.reads(self._connection, [version.seq for version in new]) if new else ():
            self._read.setdefault(read.seq, []).append(read)

    async def _load_readers(self, fresh: Mapping[Version, Ordinals]) -> None:
        """Load the versions that are recorded as readers, needed by schedule or not; and later versions of what they read."""
        windows = [(version.entity_id, start, end) for version, some in fresh.items() for start, end in some]
        await self._load([*windows, *await run_store.reading_windows(self._connection, windows)])

    def current_instances(self) -> list[DoubtedInstances]:
        """The doubted instances: those of which a doubted version is the current one."""
        current: dict[int, Ordinals] = {}
        since: dict[int, dt.datetime] = {}
        runs: dict[int, set[str]] = {}
        for version, some in self._doubted.items():
            if left := some - self._later(version, lambda _: True):
                id_ = version.entity_id
                current[id_] = current.get(id_, NONE) | left
                since[id_] = min(since.get(id_, version.produced_at), version.produced_at)
                runs.setdefault(id_, set()).add(version.run)
        names = sorted((self._held.names[id_], id_) for id_ in current)
        return [
            DoubtedInstances(
                name,
                current[id_],
                ranges.written(self._held.instances(name), current[id_]),
                since[id_],
                list(self._held.declared[name].owners),
                frozenset(runs[id_]),
            )
            for name, id_ in names
        ]
