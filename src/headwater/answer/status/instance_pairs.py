"""Pairs of an instance and the versions of datasets that it is.

The run that reports an instance is often not the one that wrote it: a package reports, and its steps write. So an instance is paired with what its
run or any run below it wrote: the version that has its content; else, if no content is known, every version that is of no other instance, in the
datasets that hold the entity where these are known.
"""

import uuid
from collections.abc import Collection, Iterable

from headwater.answer.lineage.run_records import RunRecords
from headwater.answer.lineage.walk import Place
from headwater.answer.status.declared import declared
from headwater.answer.status.schedules import homes
from headwater.model import version
from headwater.store.database import Connection
from headwater.store.lineage.runs import RunKey
from headwater.store.status import wrong_versions as store
from headwater.store.status.wrong_versions import MadeInstances


class InstancePairs:
    """The instances that runs made, each run loaded once, and what the runs below them wrote, as a walk has it."""

    def __init__(self, connection: Connection, walk: RunRecords) -> None:
        self.connection, self._walk = connection, walk
        self._made: dict[uuid.UUID, list[MadeInstances]] = {}
        self._contents: dict[uuid.UUID, set[str]] = {}
        self._holders: dict[int, set[uuid.UUID]] = {}
        self.families: dict[uuid.UUID, set[RunKey]] = {}
        self._written: dict[uuid.UUID, dict[Place, str]] = {}

    async def load(self, runs: Collection[uuid.UUID]) -> None:
        """Load the versions of instances that these runs made, current or not, and what was written by them and the runs below them."""
        new = set(runs) - self._made.keys()
        for one in await store.versions_of_runs(self.connection, [str(run) for run in new]):
            self._made.setdefault(uuid.UUID(one.run), []).append(one)
        for run in new:
            self._contents[run] = {one.fingerprint for one in self._made.setdefault(run, []) if one.fingerprint}
        self.families |= await store.run_keys(self.connection, new)
        written = await self._walk.written_by([key for run in new for key in self.families.get(run, ())])
        entities: set[int] = set()
        for run in new:
            places = (place for key in self.families.get(run, ()) for place in written.get(key, ()))
            self._written[run] = {place: self.content(place) for place in places}
            if len({place.dataset for place in self._written[run]}) > 1:
                entities |= {one.some.entity_id for one in self._made[run]}
        await self._load_holders(entities)

    async def _load_holders(self, entities: Iterable[int]) -> None:
        held = await declared(self.connection)
        if new := {held.names[each]: each for each in entities if each in held.names and each not in self._holders}:
            found = await homes(self.connection, held, new)
            self._holders |= {number: set(found.get(name, ())) for name, number in new.items()}

    async def load_above(self, runs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
        """Load the runs that made instances among these and those above them; return them by the runs that led to them."""
        if not runs or not (await declared(self.connection)).declared:
            return {}
        found = await store.makers_above(self.connection, runs)
        await self.load({maker for some in found.values() for maker in some})
        return found

    def content(self, place: Place) -> str:
        """The name of a version in its storage; empty if it has none."""
        return self._walk.versions[place.version].external_version if place.version in self._walk.versions else ""

    def made_by(self, run: uuid.UUID) -> list[MadeInstances]:
        """The versions of instances that a loaded run made."""
        return self._made.get(run, [])

    def homes(self, one: MadeInstances) -> set[Place]:
        """The versions that these instances are, or may be: several if nothing says which."""
        for run in version.run_ids([one.run]):
            return self._homes(run, one)
        return set()

    def _homes(self, run: uuid.UUID, one: MadeInstances) -> set[Place]:
        written = self._written.get(run, {})
        if one.fingerprint and (same := {place for place, content in written.items() if content == one.fingerprint}):
            return same
        others = self._contents.get(run, set())
        rest = {place for place, content in written.items() if not content or content not in others}
        if len({place.dataset for place in rest}) > 1:
            holders = self._holders.get(one.some.entity_id, set())
            return {place for place in rest if place.dataset in holders} or rest
        return rest
