"""Which wrong instances need not be made again because an earlier version of them is stored that is right, and which version that is.

A version qualifies where all of this is known; where any of it is not, the instance is made again:

- it is the current one no more, says where it is kept (`storage` with `delta_version` and `table`), and was not deleted since;
- nothing was held against it when it was replaced, other than incidents that were retracted since;
- no incident is about its instance, or the code that made it is known and is another than made the wrong one: the same code would make the same
  mistake. Who asks may vouch for it (`trust`). What has the content of a version that was condemned never qualifies;
- what it read is recorded, or it needs nothing. That is all that the instance needs of what is there, and each of it is right now, or goes back
  too, and has the content that was read;
- it has the states that its instance has now.

Nothing is restored here, and nothing is looked at but what was reported: whether the table still keeps the version is found out by who restores it.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.declaration.held import Held
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.needs.kinds import Cumulative
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.held_marks import united, windows
from headwater.store.database import Connection
from headwater.store.status import incidents as incident_store
from headwater.store.status import restorable as store
from headwater.store.status import status as status_store
from headwater.store.status.status import Change, Version

_LOOKED_AT = 50_000
"""Instances whose versions are looked through, and versions that are stored; of more, all are made again."""

_STRETCHES = 50
_OF_INCIDENTS = {"tainted", "inherited"}

At = tuple[str, int]
"""An entity and the ordinal of its instance."""


class Target(NamedTuple):
    """What an instance goes back to. `reads`: of what the version had read, that which counts for this instance. `vouched`: nothing tells that it is
    right but who asked.
    """

    version: Version
    reads: Mapping[str, Ordinals]
    vouched: bool


Targets = Mapping[str, Mapping[int, Target]]


async def restorable(
    connection: Connection, held: Held, wrong: Mapping[str, Ordinals], *, trust: bool = False, together: bool = True
) -> Targets:
    """By entity and ordinal, those of `wrong` that can go back; right once all of them have. Not `together`: each by itself, as things are now.

    `trust`: the asker says that versions are right of which only the code speaks against them.
    """
    found = await store.stored(
        connection, _windows({held.number(name): some for name, some in wrong.items()}), _LOOKED_AT + 1
    )
    if len(found) > _LOOKED_AT:
        return {}
    some: dict[str, Ordinals] = {}
    for version in found:
        name = held.names[version.entity_id]
        if _can(held, name):
            some[name] = some.get(name, NONE) | (Ordinals.between(version.start_, version.end_) & wrong[name])
    if not some or sum(each.count for each in some.values()) > _LOOKED_AT:
        return {}
    known = await _Known.load(connection, held, some, found)
    if known is None:
        return {}
    chosen: dict[str, dict[int, Target]] = {}
    order = [name for component in held.graph.order for name in component if name in some]
    left = [(name, k) for name in order for k in some[name].members().tolist()]
    while True:
        # Once more only where entities need each other in turns: what they read may have come later in the order.
        late = []
        for name, k in left:
            target = known.target(name, k, chosen if together else {}, trust=trust)
            if target is None:
                late.append((name, k))
            else:
                chosen.setdefault(name, {})[k] = target
        if len(late) == len(left) or not late or not together:
            return chosen
        left = late


def runs(targets: Targets) -> dict[str, list[tuple[int, int, int]]]:
    """By entity (start, end, seq of the version), as a plan keeps it."""
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
    """What two versions of the same content have in common: the fingerprint, otherwise which version it is or was restored from."""
    if version.fingerprint is not None:
        return version.fingerprint
    return f"seq {origin(version)}"


def origin(version: Version) -> int:
    """The seq of the version that was restored as this one, or its own."""
    came = json.loads(version.storage).get("restored_from") if version.storage else None
    return came if isinstance(came, int) else version.seq


def _can(held: Held, name: str) -> bool:
    """Whether what its instances need can be listed: not of what adds up, is carried on from whatever was there, or has no periods to need by."""
    entity = held.graph.entities[name]
    return not isinstance(entity.kind, Cumulative) and all(
        link.edge is not None or (not link.carried and held.graph.entities[link.upstream].instances is None)
        for link in held.graph.upstream(name)
    )


class _Known:
    """What is recorded of some instances and of what they read and need."""

    def __init__(
        self,
        held: Held,
        versions: Iterable[Version],
        reads: Iterable[status_store.Read],
        marks: Mapping[int, Marks],
    ) -> None:
        self._held = held
        self._marks = marks
        # By instance its versions, in the order in which they were produced.
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
        cls, connection: Connection, held: Held, some: Mapping[str, Ordinals], found: Sequence[Version]
    ) -> "_Known | None":
        """None where that is too much to look through."""
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
        known = cls(held, _cut(versions, wanted), reads, marks)
        known.stored = {(version.entity_id, version.seq) for version in found}
        for made in await store.made(connection, sorted({version.seq for version in found})):
            known.states[made.seq] = set(json.loads(made.body).get("states") or [COMPLETED])
            stretch = Ordinals.between(made.start_, made.end_)
            known.made[made.seq] = known.made.get(made.seq, NONE) | stretch
        await known._judged(connection, own)
        return known

    async def _judged(self, connection: Connection, own: Mapping[int, Ordinals]) -> None:
        """What was held against versions of these, and which incidents are about them."""
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
        """The newest version that qualifies, where `chosen` go back."""
        past = self._past.get((name, k), [])
        marks = self._of(name)
        states = {mark.ref for mark, some in marks.items() if mark.kind == "state" and k in some}
        if not past or not states or k in marks.of("quarantined"):
            return None
        condemned = {version.fingerprint for version in past if "tainted" in self._held_against(name, k, version, past)}
        for version in reversed(past[:-1]):
            told = version.complete or not self._held.graph.upstream(name)
            if (version.entity_id, version.seq) not in self.stored or not told:
                continue
            if self.states.get(version.seq) != states or self._held_against(name, k, version, past):
                continue
            if version.fingerprint is not None and version.fingerprint in condemned:
                continue
            # Of code that is not known nobody can say that it is another.
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
        """The kinds of marks that it had when it was replaced, or has; and `deleted` where it was then or later."""
        after = [each.seq for each in past if each.seq > version.seq and _newer(each, version)]
        if any(each.seq < version.seq and _newer(each, version) for each in past):
            return {"late"}  # it never was the current one, so that marks say nothing of it
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
        """What it read, where that is what the instance would be made from now."""
        one = Ordinals.between(k, k + 1)
        made = self.made[version.seq]
        read: dict[str, Ordinals] = {}
        as_of = 0
        for row in self._reads.get(version.seq, ()):
            upstream = self._held.names.get(row.upstream_id)
            if upstream is None:
                return None  # an entity that is cut otherwise by now
            read[upstream] = read.get(upstream, NONE) | Ordinals.between(row.start_, row.end_)
            as_of = row.read_seq
        if read.get(name, NONE) & made:
            return None  # one run, each from the one before: not told apart
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
        """Whether an instance that was read has that content once `chosen` have gone back, and is right."""
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
    """One for each stretch; of an entity with many stretches one for all, for each is a search of its own."""
    hulls = {
        number: some if some.runs <= _STRETCHES else Ordinals.between(some.first, some.end)
        for number, some in wanted.items()
        if some
    }
    return windows(hulls)


def _newer(one: Version, other: Version) -> bool:
    return (one.produced_at, one.seq) > (other.produced_at, other.seq)


def _cut(versions: Iterable[Version], within: Mapping[int, Ordinals]) -> Iterator[Version]:
    """Of versions of many instances only what is looked at."""
    for version in versions:
        for start, end in Ordinals.between(version.start_, version.end_) & within[version.entity_id]:
            yield version._replace(start_=start, end_=end)


_NOTHING = Marks()
