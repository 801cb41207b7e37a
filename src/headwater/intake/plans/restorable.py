"""Find wrong instances that can go back to an earlier, right version instead of being made again, and that version.

A version qualifies if all of this is known to hold; otherwise the instance is made again:

- it is no longer current, names its storage (`storage` with `delta_version` and `table`), and was not deleted since;
- when it was replaced, it had no mark against it, except by incidents that were retracted since;
- no incident names its instance, or its code is known and differs from the code of the wrong version: the same code would make the same mistake.
  The caller may vouch for it (`trust`). A version with the content of a condemned version never qualifies;
- its reads are recorded, or it needs nothing. They cover all existing instances that it needs; each of these is right now or goes back too, and has
  the content that was read;
- it has the states that its instance has now.

Nothing is restored here, and only reports are consulted: the worker that restores finds out whether the table still has the version.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.needs.kinds import Cumulative
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.loaded_marks import united, windows
from headwater.store.database import Connection
from headwater.store.status import incidents as incident_store
from headwater.store.status import restorable as store
from headwater.store.status import status as status_store
from headwater.store.status.status import Change, Version

_LOOKED_AT = 50_000
"""The most instances, and the most stored versions, that are examined. With more, all instances are made again."""

_STRETCHES = 50
_OF_INCIDENTS = {"tainted", "inherited"}

At = tuple[str, int]
"""An entity and the ordinal of its instance."""


class Target(NamedTuple):
    """The version to which an instance goes back. `reads`: those of the version's reads that count for this instance. `vouched`: only the caller
    vouches for the version.
    """

    version: Version
    reads: Mapping[str, Ordinals]
    vouched: bool


Targets = Mapping[str, Mapping[int, Target]]


async def restorable(
    connection: Connection,
    held: StoredDeclarations,
    wrong: Mapping[str, Ordinals],
    *,
    trust: bool = False,
    together: bool = True,
) -> Targets:
    """The targets of the `wrong` instances that can go back, by entity and ordinal. With `together`, they are right once all of them have gone back;
    without it, each is judged by itself on the current status.

    `trust`: the caller vouches for versions against which only their code speaks.
    """
    stored = await store.stored(
        connection, _windows({held.number(name): some for name, some in wrong.items()}), _LOOKED_AT + 1
    )
    if len(stored) > _LOOKED_AT:
        return {}
    some: dict[str, Ordinals] = {}
    for version in stored:
        name = held.names[version.entity_id]
        if _needs_are_listable(held, name):
            some[name] = some.get(name, NONE) | (Ordinals.between(version.start_, version.end_) & wrong[name])
    if not some or sum(each.count for each in some.values()) > _LOOKED_AT:
        return {}
    recorded = await _RecordedVersions.load(connection, held, some, stored)
    if recorded is None:
        return {}
    chosen: dict[str, dict[int, Target]] = {}
    order = [name for component in held.graph.order for name in component if name in some]
    left = [(name, k) for name in order for k in some[name].members().tolist()]
    while True:
        # More than one round only if entities need each other in a cycle: an instance that was read may come later in the order.
        late = []
        for name, k in left:
            target = recorded.target(name, k, chosen if together else {}, trust=trust)
            if target is None:
                late.append((name, k))
            else:
                chosen.setdefault(name, {})[k] = target
        if len(late) == len(left) or not late or not together:
            return chosen
        left = late


def runs(targets: Targets) -> dict[str, list[tuple[int, int, int]]]:
    """The targets as a plan stores them: (start, end, seq of the version) by entity."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    for name, by_ordinal in targets.items():
        mine = found.setdefault(name, [])
        for k in sorted(by_ordinal):
            seq = by_ordinal[k].version.seq
            if mine and mine[-1][1:] == (k, seq):
                mine[-1] = (mine[-1][0], k + 1, seq)
            else:
                mine.append((k, k + 1, seq))
    return found


def content(version: Version) -> str:
    """A key that is equal for versions of equal content: the fingerprint, otherwise the version's `origin`."""
    if version.fingerprint is not None:
        return version.fingerprint
    return f"seq {origin(version)}"


def origin(version: Version) -> int:
    """The seq of the version that was restored as this one, or its own."""
    came = json.loads(version.storage).get("restored_from") if version.storage else None
    return came if isinstance(came, int) else version.seq


def _needs_are_listable(held: StoredDeclarations, name: str) -> bool:
    """Return whether the needs of the entity's instances can be listed: not if it is cumulative, carries content on, or
    needs an entity without matching periods."""
    entity = held.graph.entities[name]
    return not isinstance(entity.kind, Cumulative) and all(
        link.edge is not None or (not link.carried and held.graph.entities[link.upstream].instances is None)
        for link in held.graph.upstream(name)
    )


class _RecordedVersions:
    """The recorded versions, reads, marks and verdicts of some instances, and of the instances that they read and need."""

    def __init__(
        self,
        held: StoredDeclarations,
        versions: Iterable[Version],
        reads: Iterable[status_store.Read],
        marks: Mapping[int, Marks],
    ) -> None:
        self._held = held
        self._marks = marks
        # The versions of each instance, in the order in which they were produced.
        self._past: dict[At, list[Version]] = {}
        for version in versions:
            name = held.names[version.entity_id]
            for k in range(version.start_, version.end_):
                self._past.setdefault((name, k), []).append(version)
        self._reads: dict[int, list[status_store.Read]] = {}
        for read in reads:
            self._reads.setdefault(read.seq, []).append(read)
        self.stored: set[tuple[int, int]] = set()
        self.states: dict[int, set[str]] = {}
        self.made: dict[int, Ordinals] = {}
        self.retracted: set[str] = set()
        self._verdicts: dict[At, list[Change]] = {}
        self._codes: dict[At, set[str]] = {}

    @classmethod
    async def load(
        cls, connection: Connection, held: StoredDeclarations, some: Mapping[str, Ordinals], found: Sequence[Version]
    ) -> "_RecordedVersions | None":
        """Load the records; None if there are too many."""
        own = {held.number(name): each for name, each in some.items()}
        reads = await status_store.reads(connection, sorted({version.seq for version in found}))
        links = [link for name in some for link in held.graph.upstream(name)]
        needed = [
            (
                held.number(link.upstream),
                link.edge.need(some[link.downstream]) if link.edge is not None else held.graph.every(link.upstream),
            )
            for link in links
        ]
        read = [(each.upstream_id, Ordinals.between(each.start_, each.end_)) for each in reads]
        wanted = united([*own.items(), *needed, *(pair for pair in read if pair[0] in held.names)])
        if sum(each.count for each in wanted.values()) > 4 * _LOOKED_AT:
            return None
        versions = await status_store.versions(connection, _windows(wanted), 2**62)
        marks = by_entity(await status_store.marks(connection, _windows(wanted)))
        records = cls(held, _cut(versions, wanted), reads, marks)
        records.stored = {(version.entity_id, version.seq) for version in found}
        for report in await store.stored_versions(connection, sorted({version.seq for version in found})):
            records.states[report.seq] = set(json.loads(report.body).get("states") or [COMPLETED])
            stretch = Ordinals.between(report.start_, report.end_)
            records.made[report.seq] = records.made.get(report.seq, NONE) | stretch
        await records._load_verdicts(connection, own)
        return records

    async def _load_verdicts(self, connection: Connection, own: Mapping[int, Ordinals]) -> None:
        """Load the verdicts against versions of these instances, and the incidents that name them."""
        refs: set[str] = set()
        for change in await store.verdicts(connection, _windows(own)):
            name = self._held.names[change.entity_id]
            for k in (Ordinals.between(change.start_, change.end_) & own[change.entity_id]).members().tolist():
                self._verdicts.setdefault((name, k), []).append(change)
            if change.kind in _OF_INCIDENTS:
                refs.add(change.ref)
        named = await incident_store.named(connection, [uuid.UUID(ref) for ref in sorted(refs)])
        self.retracted = {str(id_) for id_, one in named.items() if one.state == "retracted"}
        for root in await incident_store.roots(connection, await incident_store.about(connection, _windows(own))):
            if root.entity_id in own:
                for k in (Ordinals.between(root.start_, root.end_) & own[root.entity_id]).members().tolist():
                    self._codes.setdefault((self._held.names[root.entity_id], k), set()).add(root.code)

    def target(self, name: str, k: int, chosen: Targets, *, trust: bool) -> Target | None:
        """The newest version that qualifies, given that `chosen` go back."""
        past = self._past.get((name, k), [])
        marks = self._of(name)
        states = {mark.ref for mark, some in marks.items() if mark.kind == "state" and k in some}
        if not past or not states or k in marks.of("quarantined"):
            return None
        condemned = {version.fingerprint for version in past if "tainted" in self._held_against(name, k, version, past)}
        for version in reversed(past[:-1]):
            has_reads = version.complete or not self._held.graph.upstream(name)
            if (version.entity_id, version.seq) not in self.stored or not has_reads:
                continue
            if self.states.get(version.seq) != states or self._held_against(name, k, version, past):
                continue
            if version.fingerprint is not None and version.fingerprint in condemned:
                continue
            # Unknown code may be the same code.
            doubtful = any(
                not code or not version.code or code == version.code for code in self._codes.get((name, k), ())
            )
            if doubtful and not trust:
                continue
            reads = self._equal(name, k, version, chosen)
            if reads is not None:
                return Target(version, reads, doubtful)
        return None

    def _held_against(self, name: str, k: int, version: Version, past: Sequence[Version]) -> set[str]:
        """The kinds of marks that the version has, or had when it was replaced; and `deleted` if it was deleted then or later."""
        after = [each.seq for each in past if each.seq > version.seq and _newer(each, version)]
        if any(each.seq < version.seq and _newer(each, version) for each in past):
            return {"late"}  # it was never current, so no mark is about it
        end = min(after, default=2**62)
        had: set[tuple[str, str]] = set()
        gone = False
        for change in self._verdicts.get((name, k), ()):
            if change.kind == "deleted":
                gone = gone or (change.added and change.seq > version.seq)
            elif change.seq < end and change.added:
                had.add((change.kind, change.ref))
            elif change.seq < end:
                had.discard((change.kind, change.ref))
        found = {kind for kind, ref in had if kind not in _OF_INCIDENTS or ref not in self.retracted}
        return found | {"deleted"} if gone else found

    def _equal(self, name: str, k: int, version: Version, chosen: Targets) -> dict[str, Ordinals] | None:
        """Return what the version read, if the instance would read the same content now; otherwise None."""
        one = Ordinals.between(k, k + 1)
        made = self.made[version.seq]
        read: dict[str, Ordinals] = {}
        as_of = 0
        for row in self._reads.get(version.seq, ()):
            upstream = self._held.names.get(row.upstream_id)
            if upstream is None:
                return None  # the entity has a different calendar by now
            read[upstream] = read.get(upstream, NONE) | Ordinals.between(row.start_, row.end_)
            as_of = row.read_seq
        if read.get(name, NONE) & made:
            return None  # one run made several instances, each from the one before: their reads cannot be separated
        needs: dict[str, Ordinals] = {}
        others: dict[str, Ordinals] = {}
        for link in self._held.graph.upstream(name):
            need, every = (
                (link.edge.need(one), link.edge.need(made))
                if link.edge is not None
                else (self._held.graph.every(link.upstream),) * 2
            )
            needs[link.upstream] = needs.get(link.upstream, NONE) | need
            others[link.upstream] = others.get(link.upstream, NONE) | every
        found: dict[str, Ordinals] = {}
        for upstream in {**needs, **read}:
            had, need = read.get(upstream, NONE), needs.get(upstream, NONE)
            counts = had & need | (had - others.get(upstream, NONE))
            if not need & self._of(upstream).exist <= counts:
                return None
            if not all(self._same(upstream, u, as_of, chosen) for u in counts.members().tolist()):
                return None
            found[upstream] = counts
        return found

    def _same(self, upstream: str, u: int, as_of: int, chosen: Targets) -> bool:
        """Return whether an instance that was read is right and has the same content, once `chosen` have gone back."""
        past = self._past.get((upstream, u), [])
        before = [version for version in past if version.seq <= as_of]
        if not before:
            return False
        target = chosen.get(upstream, {}).get(u)
        if target is not None:
            return content(target.version) == content(before[-1])
        marks = self._of(upstream)
        return u in marks.exist and u not in marks.refused and content(past[-1]) == content(before[-1])

    def _of(self, name: str) -> Marks:
        return self._marks.get(self._held.number(name), _NOTHING)


def _windows(wanted: Mapping[int, Ordinals]) -> list[status_store.Window]:
    """A window for each stretch; for an entity with many stretches a single one, because each window costs a search."""
    hulls = {
        number: some if some.runs <= _STRETCHES else Ordinals.between(some.first, some.end)
        for number, some in wanted.items()
        if some
    }
    return windows(hulls)


def _newer(one: Version, other: Version) -> bool:
    return (one.produced_at, one.seq) > (other.produced_at, other.seq)


def _cut(versions: Iterable[Version], within: Mapping[int, Ordinals]) -> Iterator[Version]:
    """Cut the versions to the instances that are examined."""
    for version in versions:
        for start, end in Ordinals.between(version.start_, version.end_) & within[version.entity_id]:
            yield version._replace(start_=start, end_=end)


_NOTHING = Marks()
