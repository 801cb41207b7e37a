"""Incidents over random histories in a database, beside what the versions say, one by one: each with what it read, as it was then.

The histories have records that equal what is declared, that are smaller or larger, or of undeclared inputs; none at all; snapshots, chains, something
static, versions that were made again, with the same content or other, late ones, and deletions.
"""

import datetime as dt
import random
from typing import Any, NamedTuple

import pytest

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Mark, Marks, by_entity, replayed
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status import incidents
from headwater.intake.status.declared import declared
from headwater.intake.status.entities import File, apply
from headwater.intake.status.incidents import Wrong
from headwater.intake.status.reports import SentReport, record
from headwater.intake.status.request import ReadInstances, Reported
from headwater.store.database import Database
from headwater.store.status import status as store

T0 = dt.datetime(2025, 6, 1, tzinfo=dt.UTC)
SPAN = "from: 2025-03-03, until: 2025-03-17"
ENTITIES = {
    "static": "kind: static",
    "a": f"period: {{every: day, {SPAN}}}",
    "alone": f"period: {{every: day, {SPAN}}}",
    "half": f"period: {{every: 12h, {SPAN}}}\ndepends_on: {{a: same}}",
    "b": f"period: {{every: day, {SPAN}}}\ndepends_on: {{a: same, static: static}}",
    "chain": f"period: {{every: day, {SPAN}}}\ndepends_on: {{a: same, chain: previous}}",
    "window": f"period: {{every: day, {SPAN}}}\ndepends_on: {{half: last 3 days, chain: same}}",
    "week": f"period: {{every: week, {SPAN}}}\ndepends_on: {{b: all_week, window: all_week}}",
    "carry": f"period: {{every: day, {SPAN}}}\nkind: snapshot\nmode: carry\ndepends_on: {{b: same}}",
    "last": f"period: {{every: day, {SPAN}}}\ndepends_on: {{carry: last 2 days, alone: same}}",
}
Instance = tuple[str, int]


class Made(NamedTuple):
    """One report. `read`: None where nothing was recorded."""

    entity: str
    ks: tuple[int, ...]
    at: int
    seq: int
    content: str | None
    read: frozenset[Instance] | None
    read_seq: int


class Story:
    """The reports so far, and their consequences."""

    def __init__(self, database: Database, run: Any, held: StoredDeclarations, seed: int) -> None:
        self.twice = seed % 3 > 0  # nothing is made more often: then nothing more than what is wrong is said to be
        self.database, self.run, self.held = database, run, held
        self.chance = random.Random(seed)
        self.every = {name: held.graph.every(name).members().tolist() for name in held.graph.entities}
        self.made: list[Made] = []
        self.clock = 0

    def keys(self, name: str, ks: list[int]) -> list[str]:
        return ranges.written(self.held.instances(name), Ordinals.of(ks))

    def say(self, name: str, what: Any, ks: list[int], at: int, **more: Any) -> int:
        told = Reported(entity=name, what=what, instances=self.keys(name, ks), at=T0 + dt.timedelta(seconds=at), **more)
        _, (taken,) = self.run(record(self.database, [SentReport(told, "tests")]))
        assert taken.refused is None, taken
        return int(taken.seq)

    def needed(self, name: str, ks: list[int]) -> set[Instance]:
        """Return the declared inputs; of the one before a snapshot, the last that is there."""
        found: set[Instance] = set()
        for link in self.held.graph.upstream(name):
            if link.edge is not None:
                some = link.edge.need(Ordinals.of(ks)) & link.edge.upstream.all
            elif link.carried:
                before = [k for one in self.made if one.entity == name for k in one.ks if k < ks[0]]
                some = Ordinals.of([max(before)] if before else [])
            else:
                some = self.held.graph.every(link.upstream)
            found |= {(link.upstream, u) for u in some.members().tolist()}
        return found

    def produce(self) -> None:
        chance = self.chance
        name = chance.choice(list(self.every))
        ks = self.every[name]
        first = chance.randrange(len(ks))
        ks = ks[first : first + (1 if name == "carry" else chance.choice([1, 2, 5]))]
        if self.twice and any(len(self.versions().get((name, k), ())) > 1 for k in ks):
            return
        read: set[Instance] | None = self.needed(name, ks)
        there = {(one.entity, k) for one in self.made for k in one.ks}
        how = chance.choice(["equal", "equal", "there", "there", "smaller", "larger", "none"])
        if how == "there":
            read &= there
        elif how == "smaller":
            read = {each for each in read if chance.random() < 0.7}
        elif how == "larger" and there:
            read |= set(chance.sample(sorted(there), min(len(there), 3))) - {(name, k) for k in ks}
        elif how == "none":
            read = None
        self.clock += 2
        # Late, or told of an earlier time.
        at = self.clock if chance.random() < 0.9 else max(1, self.clock - chance.randrange(20) * 2 - 1)
        past = self.made[-chance.randrange(1, 8) :][0].seq if self.made and chance.random() < 0.2 else None
        content = chance.choice([None, "x", "y", "z"])
        more: dict[str, Any] = {"code": chance.choice(["v1", "v2"])}
        if content:
            more["fingerprint"] = content
        if read is not None:
            upstreams = sorted({upstream for upstream, _ in read})
            more["reads"] = [
                ReadInstances(each, self.keys(each, sorted(k for other, k in read if other == each)))
                for each in upstreams
            ]
            if past is not None:
                more["seq"] = past
        seq = self.say(name, "produced", ks, at, **more)
        as_of = seq - 1 if past is None else min(past, seq - 1)
        self.made.append(Made(name, tuple(ks), at, seq, content, None if read is None else frozenset(read), as_of))

    def versions(self) -> dict[Instance, list[Made]]:
        """The versions of each instance, in the order in which they were produced."""
        found: dict[Instance, list[Made]] = {}
        for one in sorted(self.made, key=lambda made: (made.at, made.seq)):
            for k in one.ks:
                found.setdefault((one.entity, k), []).append(one)
        return found

    def used(self, one: Made, k: int, histories: dict[Instance, list[Made]], *, recorded: bool) -> set[Any]:
        """The versions, (instance, report), that one instance of a report used."""
        if one.read is None:
            if recorded:
                return set()
            may = {each for each in self.needed_of(one.entity, k) if each in histories}
            return {(each, version) for each in may for version in histories[each]}
        found: set[Any] = set()
        for upstream, u in one.read:
            at = (upstream, u)
            edges = [link.edge for link in self.held.graph.upstream(one.entity) if link.upstream == upstream]
            if len(one.ks) > 1 and len(edges) == 1 and edges[0] is not None:
                mine, all_ = (edges[0].need(Ordinals.of(some)) for some in ([k], one.ks))
                if u in all_ and u not in mine:
                    continue
            known = [version for version in histories.get(at, []) if version.seq <= one.read_seq]
            found |= {(at, version) for version in (known[-1:] or histories.get(at, []))}
        return found

    def needed_of(self, name: str, k: int) -> set[Instance]:
        found = {each for each in self.needed(name, [k]) if each[0] != name}
        for link in self.held.graph.upstream(name):
            if link.carried:
                found |= {(name, u) for u in self.every[name] if u < k}
            elif link.upstream == name and link.edge is not None:
                found |= {(name, u) for u in link.edge.need(Ordinals.of([k])).members().tolist()}
        return found

    def wrong(self, roots: set[Instance], *, recorded: bool = False) -> set[Any]:
        """The wrong versions, (instance, report). Consecutive versions with the same content are all as the last one."""
        histories = self.versions()
        uses = {
            (at, one): self.used(one, at[1], histories, recorded=recorded)
            for at, some in histories.items()
            for one in some
        }
        found = {(at, histories[at][-1]) for at in roots}
        while True:
            more = {version for version, used in uses.items() if used & found}
            for at, some in histories.items():
                for one, after in zip(some[-2::-1], some[:0:-1], strict=True):
                    if one.content is not None and one.content == after.content:
                        more.discard((at, one))
                        if (at, after) in more | found:
                            more.add((at, one))
            if more <= found:
                return found
            found |= more


async def marks_of(database: Database) -> dict[int, Marks]:
    """Return the database's marks, after checking that its log comes to the same."""
    async with database.connection() as connection:
        held = await declared(connection)
        rows = by_entity(await store.marks_of(connection, list(held.names)))
        for number in held.names:
            again = replayed(await store.changes(connection, (number, -(2**40), 2**40), 2**60))
            assert rows.get(number, Marks()) == again
    return rows


def instances(held: StoredDeclarations, marks: dict[int, Marks], kind: Any, ref: str) -> set[Instance]:
    return {
        (held.names[number], k)
        for number, some in marks.items()
        for k in some.get(Mark(kind, ref), NONE).members().tolist()
    }


def check(database: Database, run: Any, seed: int) -> tuple[int, int]:
    """Return the number of instances compared, and of those that are wrong because of others."""
    texts = "---\n".join(f"entity: {name}\n{body}\n" for name, body in ENTITIES.items())
    run(apply(database, [File("drawn.yaml", texts)], "tests"))

    async def read() -> StoredDeclarations:
        async with database.connection() as connection:
            return await declared(connection)

    held = run(read())
    story = Story(database, run, held, seed)
    chance = story.chance
    for _ in range(60 if story.twice else 40):
        story.produce()
    gone = sorted({(one.entity, k) for one in story.made for k in one.ks})
    deleted = set(chance.sample(gone, 3))
    story.clock += 2
    for name, k in sorted(deleted):
        story.say(name, "deleted", [k], story.clock, ref="external")
    histories = story.versions()
    there = histories.keys() - deleted
    current = {at: some[-1] for at, some in histories.items()}
    compared = inherited_ = 0
    for _ in range(2):
        roots = set(chance.sample(sorted(there), chance.choice([1, 1, 3])))
        named = [Wrong(name, story.keys(name, [k])) for name, k in sorted(roots)]
        tried = run(incidents.open_(database, named, "spoilt", "tests", dry_run=True))
        opened = run(incidents.open_(database, named, "spoilt", "tests"))
        assert tried.hits == opened.hits
        marks, ref = run(marks_of(database)), str(opened.id)
        wrong = story.wrong(roots)
        now = {at for at, version in current.items() if (at, version) in wrong}
        before = {at for at, version in wrong if current[at] != version and not _same(histories[at], version)}
        assert instances(held, marks, "tainted", ref) == roots, seed
        inherited, repaired = (instances(held, marks, kind, ref) for kind in ("inherited", "repaired"))
        assert now & there - roots <= inherited <= there - roots, (seed, now & there - roots - inherited)
        assert before | now & deleted <= repaired, (seed, (before | now & deleted) - repaired)
        if story.twice:
            assert inherited == now & there - roots, (seed, inherited - now)
            assert repaired == before | now & deleted, seed
        known = story.wrong(roots, recorded=True)
        exact = {at for at, version in current.items() if (at, version) in known}
        for hit in opened.hits:
            mine = {at for at in (now & there) | roots if at[0] == hit.entity}
            if hit.basis == "exact":
                assert mine <= exact, (seed, hit)
        compared, inherited_ = compared + len(there), inherited_ + len(inherited)
        run(incidents.retract(database, opened.id, "tests"))
        assert not [mark for some in run(marks_of(database)).values() for mark in some if mark.ref == ref]
    return compared, inherited_


def _same(some: list[Made], version: Made) -> bool:
    """Return whether all later versions have its content."""
    after = some[some.index(version) :]
    return version.content is not None and {one.content for one in after} == {version.content}


@pytest.mark.parametrize("seed", [2, 3, 67])
def test_it_is_what_the_versions_say(database: Database, run: Any, seed: int) -> None:
    compared, inherited = check(database, run, seed)
    assert compared > inherited > 0
