"""Judge new versions under the open incidents: load the facts for `entities/status/incidents.py`, and apply the verdict to other entities.

While no incident is open, which is most of the time, nothing is loaded.
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping, Sequence, Set

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.incidents import Incident, Version, judged, same_content
from headwater.entities.status.marks import Marks
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.incident_columns import affected_now, spared
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.loaded_marks import LoadedMarks, united, windows
from headwater.intake.status.request import ResolvedReport
from headwater.store.database import Connection
from headwater.store.status import incidents as incident_store
from headwater.store.status import status as store

WRONG = ("tainted", "inherited", "repaired", "wont_fix")


class Judge:
    """Judges the versions of one batch. It shares the batch's `marks`, so each version is judged on the marks left by the reports before it."""

    def __init__(
        self, connection: Connection, held: StoredDeclarations, marks: LoadedMarks, incidents: Sequence[Incident]
    ) -> None:
        self._connection = connection
        self._held = held
        self._marks = marks
        self._incidents = incidents
        # (entity id, instances, seq, fingerprint) of versions, in the order in which they were produced.
        self.versions: list[tuple[int, Ordinals, int, str | None]] = []
        # (entity id, instances, seq) of deletions since the earliest read of the batch.
        self.deleted: list[tuple[int, Ordinals, int]] = []
        # By incident: the (upstream, downstream) pairs over which no wrong column flows.
        self.spared: dict[str, frozenset[tuple[str, str]]] = {}

    @classmethod
    async def load(cls, ledger: Ledger, held: StoredDeclarations, some: Sequence[ResolvedReport]) -> "Judge | None":
        """Load the facts; None if nothing is wrong anywhere and no incident is about these reports. Adds the upstreams' marks to the ledger."""
        made = [one for one in some if one.produced]
        if not made:
            return None
        connection, marks = ledger.connection, ledger.marks
        own = windows(united((one.entity_id, one.instances) for one in made))
        ids = await incident_store.about(connection, own)
        if not ids and not ledger.began.troubled:
            return None
        wanted = united(pair for one in made for pair in _upstream(held, one))
        await marks.more(connection, windows(wanted))
        judge = cls(connection, held, marks, await _incidents(connection, held, ids))
        everything = windows(united([*wanted.items(), *((one.entity_id, one.instances) for one in made)]))
        for version in await store.versions(connection, everything, ledger.seq):
            stretch = Ordinals.between(version.start_, version.end_)
            judge.versions.append((version.entity_id, stretch, version.seq, version.fingerprint))
        refs = {mark.ref for id_ in marks.ids() for mark in marks.of(id_) if mark.kind in WRONG}
        judge.spared = await spared(connection, held, [uuid.UUID(ref) for ref in refs])
        since = [one.reported.seq for one in made if one.reported.seq is not None]
        if since:
            for entity_id, at, start, end in await store.deletions(connection, windows(wanted), min(since)):
                judge.deleted.append((entity_id, Ordinals.between(start, end), at))
        return judge

    async def judge(
        self, one: ResolvedReport, now: Marks, current: Ordinals, exist: Ordinals, seq: int, began: dt.datetime
    ) -> dict[int, Marks]:
        """The new marks of all entities that a new version changes, by id.

        `now`: its entity's marks after `transitions.after`. `current`: the instances of which it is the newest version. `exist`: the instances
        that existed before. `seq`: of the report before it. `began`: when its run began, as far as known.
        """
        reported, read_seq = one.reported, seq if one.reported.seq is None else one.reported.seq
        read: dict[str, Ordinals] = {}
        replaced: dict[str, Ordinals] = {}
        for upstream_id, name, instances in one.reads or ():
            read[name] = read.get(name, NONE) | instances
            replaced[name] = self._replaced(upstream_id, read_seq) & read[name]
        for link in self._held.graph.upstream(one.name):
            if one.reads is not None:
                # The record of reads is complete: an upstream that is not in it was not read.
                read.setdefault(link.upstream, NONE)
            elif link.upstream not in replaced:
                replaced[link.upstream] = self._replaced(self._held.ids[link.upstream], read_seq)
        used = {*read, *(link.upstream for link in self._held.graph.upstream(one.name))}
        version = Version(
            one.name,
            current,
            int(began.timestamp()),
            reported.code or "",
            read,
            replaced,
            self._same(one.entity_id, current, reported.fingerprint) & exist,
            current if reported.right else NONE,
            await self._spared(one.name, used),
        )
        by_name = _MarksByName(self._held, self._marks, {one.entity_id: now})
        verdict = judged(self._held.graph, version, by_name, self._incidents)
        new = {one.entity_id: verdict.marks}
        self.versions.append((one.entity_id, current, seq + 1, reported.fingerprint))
        for incident, right in verdict.cleared.items():
            for number, marks in (await self._marks.more_of_incident(self._connection, WRONG, incident)).items():
                # Marks outside the windows that were loaded before.
                if number in new:
                    new[number] = new[number].with_(marks)
            by_name = _MarksByName(self._held, self._marks, new)
            unaffected = self.spared.get(incident, frozenset())
            now_right = same_content(self._held.graph, incident, by_name, None, {one.name: right}, unaffected)
            for name, marks in now_right.items():
                new[self._held.ids[name]] = marks
        return new

    async def _spared(self, name: str, upstream: Set[str]) -> dict[str, frozenset[str]]:
        """Return by incident the upstreams of which an entity uses no wrong column, neither when the incident was opened nor now."""
        found: dict[str, frozenset[str]] = {}
        for incident, pairs in self.spared.items():
            some = {
                (each, name)
                for each in upstream
                if (each, name) in pairs
                and any(mark.ref == incident and mark.kind in WRONG for mark in self._marks.of(self._held.ids[each]))
            }
            if some:
                after_all = await affected_now(self._connection, self._held, uuid.UUID(incident), sorted(some))
                if after_all:
                    self.spared[incident] = frozenset(
                        pair for pair in pairs - after_all if pair[0] not in {down for _, down in after_all}
                    )
                found[incident] = frozenset(each for each, _ in some - after_all)
        return found

    def _same(self, entity_id: int, instances: Ordinals, fingerprint: str | None) -> Ordinals:
        """The instances whose last version has this fingerprint."""
        last: dict[str, Ordinals] = {}
        for _, some, _, content in self._of(entity_id):
            last = {each: held - some for each, held in last.items()}
            if content is not None:
                last[content] = last.get(content, NONE) | some
        return last.get(fingerprint, NONE) & instances if fingerprint is not None else NONE

    def _replaced(self, entity_id: int, seq: int) -> Ordinals:
        """The instances that, after a seq, were deleted or got a version with different or unknown content."""
        last: dict[str, Ordinals] = {}
        found = NONE.union(*(some for id_, some, at in self.deleted if id_ == entity_id and at > seq))
        for _, some, at, content in self._of(entity_id):
            if at > seq:
                found |= some - last.get(content, NONE) if content is not None else some
            last = {each: held - some for each, held in last.items()}
            if content is not None:
                last[content] = last.get(content, NONE) | some
        return found

    def _of(self, entity_id: int) -> Iterator[tuple[int, Ordinals, int, str | None]]:
        return (version for version in self.versions if version[0] == entity_id)


class _MarksByName(Mapping[str, Marks]):
    """The current marks of the loaded entities, by the entity's name."""

    def __init__(
        self, held: StoredDeclarations, marks: LoadedMarks, instead: Mapping[int, Marks] | None = None
    ) -> None:
        self._held, self._marks, self._instead = held, marks, instead or {}

    def __getitem__(self, name: str) -> Marks:
        id_ = self._held.ids[name]
        return self._instead[id_] if id_ in self._instead else self._marks.of(id_)

    def __iter__(self) -> Iterator[str]:
        ids = {*self._marks.ids(), *self._instead}
        return iter([self._held.names[id_] for id_ in ids if id_ in self._held.names])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _upstream(held: StoredDeclarations, one: ResolvedReport) -> Iterator[tuple[int, Ordinals]]:
    """The instances that a judgement needs: those that the version read, or may have read if that is not recorded, and its own entity's chain."""
    reads = {name for _, name, _ in one.reads or ()}
    for upstream_id, _, instances in one.reads or ():
        yield upstream_id, instances
    for link in held.graph.upstream(one.name):
        if link.upstream == one.name or (one.reads is None and link.upstream not in reads):
            needed = link.edge.need(one.instances) if link.edge is not None else held.graph.every(link.upstream)
            yield held.ids[link.upstream], needed


async def _incidents(connection: Connection, held: StoredDeclarations, ids: Sequence[uuid.UUID]) -> list[Incident]:
    found = await incident_store.named(connection, ids)
    roots: dict[uuid.UUID, dict[str, dict[str, Ordinals]]] = {}
    for root in await incident_store.roots(connection, ids):
        name = held.names.get(root.entity_id)
        if name is not None:
            codes = roots.setdefault(root.incident, {}).setdefault(name, {})
            codes[root.code] = codes.get(root.code, NONE) | Ordinals.between(root.start_, root.end_)
    return [
        Incident(str(id_), roots.get(id_, {}), int(one.fixed_at.timestamp()) if one.fixed_at else None)
        for id_, one in found.items()
    ]
