"""Versions one by one, in dicts: what each read, what an incident condemned, and so what is wrong. And the same told to the marks, step by step."""

import random
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from tests.unit.entities.time.drawn_tables import tabled

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Snapshot, Static, TimeSeries
from headwater.entities.status.entity_sets import Together
from headwater.entities.status.histories import Histories
from headwater.entities.status.incidents import Incident, Version, confirmed, judged, opened, same_content
from headwater.entities.status.marks import Kind, Mark, Marks
from headwater.entities.status.propagation import Spread
from headwater.entities.status.recorded_reads import Reads, Versions, histories
from headwater.entities.status.transitions import Deleted, Produced, after
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Int, Ordinals
from headwater.errors import InvalidEntities

Instance = tuple[str, int]
EVERY = ["12h", "day", "day", "day", "2 days", "week"]
TEXTS = ["same", "same", "last 3 days", "all_week", "everything", "last_available", "previous"]
EARLIER = ["previous", "previous", "previous 2", "-2 days", "last 3 days ending previous"]


class Made(NamedTuple):
    """One version of one instance."""

    at: Instance
    reads: frozenset[int]  # versions, by number
    content: int
    code: str
    began: int
    recorded: frozenset[str]  # upstreams
    seq: int  # when it was done


class Run(NamedTuple):
    """A run that has begun and is not done: it read the versions that were there when it began."""

    entity: str
    instances: list[int]
    reads: dict[int, frozenset[int]]
    code: str
    began: int
    recorded: frozenset[str]
    seen: dict[Instance, int]  # the current versions of that time
    deletions: int


def retracted(incident: str, known: dict[str, Marks]) -> dict[str, Marks]:
    """Return the marks left after a false alarm, which a database removes in one statement."""
    kinds: tuple[Kind, ...] = ("tainted", "inherited", "repaired", "wont_fix", "suspect")
    gone = {Mark(kind, incident) for kind in kinds}
    return {
        name: Marks({mark: some for mark, some in marks.items() if mark not in gone})
        for name, marks in known.items()
        if gone & marks.keys()
    }


def drawn_graph(chance: random.Random, tables: float = 0.0) -> Graph | None:
    """`tables`: which share of dependencies has a `custom` one."""
    names = [f"e{place}" for place in range(chance.randrange(2, 6))]
    static = {name for name in names if chance.random() < 0.1}
    entities = []
    for place, name in enumerate(names):
        needs = []
        for upstream in chance.sample(names[:place], min(place, chance.choice([1, 1, 2]))):
            timed = not {name, upstream} & static
            needs.append(Dependency(upstream, Dates.of(chance.choice(TEXTS)) if timed else None))
        if name not in static:
            if chance.random() < 0.25:
                needs.append(Dependency(name, Dates.of(chance.choice(EARLIER))))
            later = [other for other in names[place + 1 :] if other not in static]
            if later and chance.random() < 0.15:
                needs.append(Dependency(chance.choice(later), Dates.of("previous")))
        if name in static:
            entities.append(Entity(name, Static(), None, {"completed": tuple(needs)}))
            continue
        period = {"every": chance.choice(EVERY), "from": "2025-03-03", "until": "2025-03-17"}
        kind = Snapshot("carry") if chance.random() < 0.2 else TimeSeries()
        entities.append(Entity(name, kind, Instances.of(period), {"completed": tuple(needs)}))
    try:
        return Graph(tabled(chance, entities, tables) if tables else entities)
    except InvalidEntities as wrong:
        if "cycle without lag" not in wrong.message:
            raise
        return None


class World:
    """`made`: every version there ever was. `known`: the marks, which are told only what a caller would know."""

    def __init__(self, chance: random.Random, graph: Graph, *, informed: bool) -> None:
        self.chance = chance
        self.graph = graph
        self.informed = informed  # everything is recorded, an instance a run
        self.every = {
            name: graph.every(name).members().tolist() if entity.instances else [0, 1, 2]
            for name, entity in graph.entities.items()
        }
        self.need = {
            (name, k): {
                (link.upstream, u)
                for link in graph.upstream(name)
                if not link.carried
                for u in (
                    self.every[link.upstream]
                    if link.edge is None
                    else link.edge.need(Ordinals.between(k, k + 1)).members().tolist()
                )
            }
            for name in graph.entities
            for k in self.every[name]
        }
        self.clock = 0
        self.made: list[Made] = []
        self.history: dict[Instance, list[int]] = {}
        self.current: dict[Instance, int] = {}
        self.deleted: list[Instance] = []
        self.condemned: dict[str, set[int]] = {}
        self.pardoned: dict[str, set[int]] = {}
        self.named: dict[str, dict[Instance, str]] = {}
        self.fixed: dict[str, int] = {}
        self.running: list[Run] = []
        self.loose: set[str] = set()  # incidents of which marks know less than versions
        self.known: dict[str, Marks] = {}

    def wrong(self, incident: str) -> set[int]:
        """The versions that are wrong: worked out anew from nothing but what was condemned and read, newest content first."""
        memo: dict[int, bool] = {}

        def is_wrong(version: int) -> bool:
            if version not in memo:
                made = self.made[version]
                past = self.history[made.at]
                place = past.index(version)
                found = version in self.condemned[incident] or any(map(is_wrong, made.reads))
                if version in self.pardoned[incident]:
                    found = False
                if found and place + 1 < len(past):
                    later = past[place + 1]
                    found = not (self.made[later].content == made.content and not is_wrong(later))
                memo[version] = found
            return memo[version]

        return {version for version in range(len(self.made)) if is_wrong(version)}

    def begin(self) -> None:
        chance = self.chance
        entity = chance.choice(list(self.graph.entities))
        ks = self.every[entity]
        first = chance.randrange(len(ks))
        some = ks[first : first + (1 if self.informed else chance.choice([1, 1, 2, 5]))]
        upstreams = {link.upstream for link in self.graph.upstream(entity)}
        recorded = frozenset(u for u in sorted(upstreams) if self.informed or chance.random() < 0.6)
        share = chance.choice([0.0, 0.0, 0.3])
        left_out = {at for at in self.current if chance.random() < share}
        carry = any(link.carried for link in self.graph.upstream(entity))
        reads: dict[int, frozenset[int]] = {}
        for k in some:
            needed = {at for at in self.need[entity, k] if at in self.current}
            if carry:
                before = [u for u in ks if u < k and (entity, u) in self.current]
                needed |= {(entity, before[-1])} if before else set()
            for name in upstreams:
                if self.graph.entities[name].instances is None:
                    there = sorted(at for at in needed if at[0] == name)
                    needed -= set(there[:-1])
            reads[k] = frozenset(self.current[at] for at in needed - left_out)
        self.clock += 1
        self.running.append(
            Run(entity, some, reads, chance.choice("AB?"), self.clock, recorded, dict(self.current), len(self.deleted))
        )

    def finish(self) -> None:
        if not self.running:
            return
        run = self.running.pop(self.chance.randrange(len(self.running)))
        self.clock += 1
        chance, name = self.chance, run.entity
        code = "" if run.code == "?" else run.code
        replaced = self._replaced(run)
        same = []
        fresh: dict[int, int] = {}
        says_right = {k for k in run.instances if chance.random() < 0.1}
        carry = any(link.carried for link in self.graph.upstream(name))
        for k in run.instances:
            at = (name, k)
            reads = set(run.reads[k])
            if name not in run.recorded:
                reads = self._in_order(at, reads, fresh, carry)
            past = self.history.setdefault(at, [])
            content = len(self.made) + 100
            # A run of several has one fingerprint, so one equal instance among them cannot be detected.
            if at in self.current and chance.random() < 0.35 and len(run.instances) == self._together(at) == 1:
                content = self.made[self.current[at]].content
                same.append(k)
            version = fresh[k] = len(self.made)
            self.made.append(Made(at, frozenset(reads), content, code, run.began, run.recorded, self.clock))
            past.append(version)
            for incident, named in self.named.items():
                by_the_same = at in named and (named[at] == code or "" in (named[at], code))
                if by_the_same and run.began < self.fixed.get(incident, 10**9) and k not in says_right:
                    self.condemned[incident].add(version)
        self.current |= {(name, k): version for k, version in fresh.items()}
        read = {
            upstream: Ordinals.of(
                sorted(
                    {self.made[v].at[1] for k in run.instances for v in run.reads[k] if self.made[v].at[0] == upstream}
                )
            )
            for upstream in run.recorded
        }
        some = Ordinals.of(run.instances)
        version_ = Version(
            name, some, run.began, code, read, replaced, Ordinals.of(same), Ordinals.of(sorted(says_right))
        )
        took = {v for reads in run.reads.values() for v in reads}
        if any(self.current.get(self.made[v].at) != v for v in took):
            # Meanwhile it was made again: with the same content it is told by what it is now, otherwise by all it ever was.
            self.loose |= self.condemned.keys()
        self._judge(version_)

    def _together(self, at: Instance) -> int:
        """Return the number of instances made by the run that made the current version of one."""
        made = self.made[self.current[at]]
        return sum(other.at[0] == at[0] and other.seq == made.seq for other in self.made)

    def _in_order(self, at: Instance, reads: set[int], fresh: dict[int, int], carry: bool) -> set[int]:
        """Unrecorded reads of itself: what the run made a moment ago is what the next one reads."""
        name, k = at
        reads = {v for v in reads if self.made[v].at[0] != name or self.made[v].at[1] not in fresh}
        reads |= {fresh[u] for n, u in self.need[at] if n == name and u in fresh}
        if carry and fresh:
            before = [u for u in self.every[name] if u < k and (u in fresh or (name, u) in self.current)]
            if before and before[-1] in fresh:
                reads = {v for v in reads if self.made[v].at[0] != name or self.made[v].at in self.need[at]}
                reads.add(fresh[before[-1]])
        return reads

    def _replaced(self, run: Run) -> dict[str, Ordinals]:
        found: dict[str, set[int]] = {}
        for at, version in run.seen.items():
            past = self.history[at]
            later = past[past.index(version) :]
            if len({self.made[v].content for v in later}) > 1 or at in self.deleted[run.deletions :]:
                found.setdefault(at[0], set()).add(at[1])
        for name, entity in self.graph.entities.items():
            there = [k for n, k in run.seen if n == name]
            if entity.instances is None and there:
                found.setdefault(name, set()).add(max(there))
        if run.entity not in run.recorded:
            fresh = {k for n, k in self.current if n == run.entity and (n, k) not in run.seen}
            found[run.entity] = found.get(run.entity, set()) | fresh
        # Reads of a static entity count only if it was made again.
        for name in run.recorded:
            if self.graph.entities[name].instances is None:
                found[name] = {
                    k
                    for k in found.get(name, set())
                    if (name, k) in self.deleted[run.deletions :]
                    or len({self.made[v].content for v in self._since(run, (name, k))}) > 1
                }
        return {name: Ordinals.of(sorted(some)) for name, some in found.items()}

    def _since(self, run: Run, at: Instance) -> list[int]:
        past = self.history[at]
        return past[past.index(run.seen[at]) :]

    def _judge(self, version: Version) -> None:
        name = version.entity
        before = self.known.get(name, Marks())
        incidents = [self._incident(each) for each in self.condemned]
        for incident in self.condemned:
            if not self.informed or version.read.get(name, NONE) & version.instances:
                self.loose.add(incident)
        self.known[name] = after(before, Produced(None), version.instances)
        verdict = judged(self.graph, version, self.known, incidents)
        self.known[name] = verdict.marks
        if not version.read.get(name, NONE) & version.instances:
            # Unless it read what it replaced: of that, nothing is known any more.
            again = judged(self.graph, version._replace(same=version.instances), self.known, incidents)
            assert again.marks == verdict.marks, "a version judged twice"
        for incident in verdict.cleared:
            if any(marks.get(Mark("repaired", incident)) for marks in self.known.values()):
                self.loose.add(incident)
            self.known |= same_content(self.graph, incident, self.known, self.histories())
            assert not same_content(self.graph, incident, self.known, self.histories())

    def _incident(self, name: str) -> Incident:
        roots: dict[str, dict[str, list[int]]] = {}
        for (entity, k), code in self.named[name].items():
            roots.setdefault(entity, {}).setdefault(code, []).append(k)
        sets = {entity: {code: Ordinals.of(ks) for code, ks in codes.items()} for entity, codes in roots.items()}
        return Incident(name, sets, self.fixed.get(name))

    def delete(self) -> None:
        if not self.current:
            return
        name, k = self.chance.choice(sorted(self.current))
        gone = [u for u in self.every[name] if k <= u < k + self.chance.choice([1, 2])]
        for u in gone:
            if self.current.pop((name, u), None) is not None:
                self.deleted.append((name, u))
        self.known[name] = after(self.known[name], Deleted("retention"), Ordinals.of(gone))

    def open(self) -> None:
        if not self.current or len(self.condemned) > 3:
            return
        incident = f"i{self.clock}"
        self.clock += 1
        some = self.chance.sample(sorted(self.current), min(len(self.current), self.chance.choice([1, 1, 2, 4])))
        self.named[incident] = {at: self.made[self.current[at]].code for at in some}
        self.condemned[incident] = {self.current[at] for at in some}
        self.pardoned[incident] = set()
        roots = {name: Ordinals.of(sorted(k for n, k in some if n == name)) for name, _ in some}
        if not self.informed or any(len(each) > 2 for each in self.history.values()):
            self.loose.add(incident)
        reached = Spread(self.histories(), roots, {})
        for name, marks in opened(
            incident, roots, {n: m.of("deleted") for n, m in self.known.items()}, reached
        ).items():
            self.known[name] = self.known.get(name, Marks()).with_(marks)

    def fix(self) -> None:
        if self.condemned:
            self.clock += 1
            self.fixed.setdefault(self.chance.choice(sorted(self.condemned)), self.clock)

    def retract(self) -> None:
        if self.condemned:
            incident = self.chance.choice(sorted(self.condemned))
            for kept in (self.condemned, self.pardoned, self.named):
                del kept[incident]
            self.known |= retracted(incident, self.known)
            assert not retracted(incident, self.known)
            assert all(mark.ref != incident for marks in self.known.values() for mark in marks)

    def confirm(self) -> None:
        if not self.condemned:
            return
        incident = self.chance.choice(sorted(self.condemned))
        wrong = [
            (n, k)
            for n, marks in self.known.items()
            for k in marks.get(Mark("tainted", incident), NONE).members().tolist()
        ]
        if not wrong:
            return
        at = self.chance.choice(wrong)
        self.pardoned[incident].add(self.current[at])
        if any(marks.get(Mark("repaired", incident)) for marks in self.known.values()):
            self.loose.add(incident)
        right = {at[0]: Ordinals.between(at[1], at[1] + 1)}
        self.known |= confirmed(self.graph, incident, right, self.known, self.histories())
        assert not confirmed(self.graph, incident, right, self.known, self.histories())

    def histories(self) -> Histories:
        """Return a caller's knowledge of reads, as rows: of the runs that recorded all their reads."""
        all_ = Together(self.graph.entities)
        runs: dict[tuple[str, int], list[Made]] = {}
        for made in self.made:
            runs.setdefault((made.at[0], made.seq), []).append(made)
        versions: list[tuple[int, ...]] = []
        reads: set[tuple[int, ...]] = set()
        for (name, seq), some in runs.items():
            complete = {link.upstream for link in self.graph.upstream(name)} <= some[0].recorded
            # Instances made in one go have one content, which here is that of none of them.
            content = some[0].content if len(some) == 1 else -1
            for start, end in Ordinals.of([made.at[1] for made in some]):
                versions.append((all_.rank[name], seq, start, end, seq, complete, content))
            if complete:
                read = {self.made[each].at for made in some for each in made.reads}
                reads |= {(seq, all_.rank[other], u, u + 1, some[0].began) for other, u in read}

        def columns(rows: Iterable[tuple[int, ...]], width: int) -> list[Int]:
            return list(np.array(sorted(rows), dtype=np.int64).reshape(-1, width).T)

        there = all_.union({name: marks.exist | marks.of("deleted") for name, marks in self.known.items()})
        within = {name: Ordinals.between(min(ks), max(ks) + 1) for name, ks in self.every.items()}
        told = Versions(*columns(versions, 7))
        told = told._replace(complete=told.complete > 0)
        return histories(self.graph, all_, there, within, told, Reads(*columns(reads, 5))).histories

    def step(self) -> Callable[[], None]:
        """One thing that happens, by chance."""
        weights = {
            self.begin: 10, self.finish: 11, self.delete: 1, self.open: 2, self.fix: 1, self.retract: 0.4, self.confirm: 0.7
        }  # fmt: skip
        return self.chance.choices(list(weights), list(weights.values()))[0]
