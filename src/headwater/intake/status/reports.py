"""Reports about instances: append them to the log, and make the marks what holds after them, in one transaction.

One transaction writes at a time, over all servers: numbers of reports are then in the order in which they can be seen, and a report is judged by what
holds. Reports that come while one runs share the next (`Batcher`), so that this costs little.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater.entities.declaration.held import Held
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.status.marks import Mark
from headwater.entities.status.transitions import Started, after
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import HeadwaterError
from headwater.intake.events.batcher import Batcher
from headwater.intake.status import held_marks
from headwater.intake.status.declared import in_state
from headwater.intake.status.judgement import Judge
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.request import Reported, Understood, understood
from headwater.intake.status.staleness import stale
from headwater.store.database import Connection, Database
from headwater.store.status import status as store

_KEPT = ("states", "remove", "seq", "code", "fingerprint", "storage", "rows", "bytes", "right")
"""What the log keeps of a report beside its columns."""
_OF_RUNS = {"started", "produced", "failed"}


class Refused(msgspec.Struct, frozen=True):
    """Why a report was not taken."""

    code: str
    message: str
    detail: dict[str, Any] = {}


class Taken(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a report. `seq`: its place in the log; null where it was refused. `duplicate`: it was there already, under that seq.

    `changed`: whether any mark is another now. `late`: of these instances there is a newer version, which stays the current one.
    """

    seq: int | None
    duplicate: bool = False
    changed: bool = False
    late: list[str] = []
    refused: Refused | None = None


class Recorded(msgspec.Struct, frozen=True):
    """One result for each report, in order; and the last seq of the log then."""

    seq: int
    results: list[Taken]


class Told(msgspec.Struct, frozen=True):
    """A report and who sent it."""

    report: Reported
    actor: str


class StatusIntake:
    """Takes reports in; those that come at the same time are written together."""

    def __init__(self, database: Database) -> None:
        # A second batch could only wait for the first one's lock: what comes meanwhile is better one batch than two.
        self._batcher: Batcher[list[Told], Recorded] = Batcher(lambda some: _together(database, some), at_once=1)

    async def add(self, reports: Sequence[Reported], actor: str) -> Recorded:
        """Written when this comes back. What is wrong with a report is said in its place; the others are taken."""
        size = sum(len(one.instances) * 24 + 400 for one in reports)
        return await self._batcher.add([Told(one, actor) for one in reports], size)


async def _together(database: Database, some: Sequence[list[Told]]) -> list[Recorded]:
    """Several callers' reports in one transaction."""
    seq, results = await record(database, [told for each in some for told in each])
    found, at = [], 0
    for each in some:
        found.append(Recorded(seq, results[at : at + len(each)]))
        at += len(each)
    return found


async def record(database: Database, told: Sequence[Told]) -> tuple[int, list[Taken]]:
    """The last seq, and what became of each report, in order."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        held = await in_state(connection, ledger.began.declared)
        return await Batch(connection, ledger, held, told).write()


class Batch:
    """Reports that are written in one transaction, each on what the one before left."""

    def __init__(self, connection: Connection, ledger: Ledger, held: Held, told: Sequence[Told]) -> None:
        self.connection = connection
        self.ledger = ledger
        self.held = held
        self.told = told

    async def write(self) -> tuple[int, list[Taken]]:
        results: dict[int, Taken] = {}
        asked: dict[int, Understood] = {}
        for place, told in enumerate(self.told):
            try:
                asked[place] = understood(told.report, self.held, self.ledger.now)
            except HeadwaterError as error:
                results[place] = _refused(error)
        known = await store.known(self.connection, [one.key for one in asked.values()])
        await self._load([one for one in asked.values() if one.key not in known])
        for place, one in asked.items():
            if one.key in known:
                results[place] = Taken(known[one.key], duplicate=True)
                continue
            taken = results[place] = await self._one(one, self.told[place].actor)
            if taken.seq is not None:
                known[one.key] = taken.seq
        await self.ledger.flush()
        return self.ledger.seq, [results[place] for place in range(len(self.told))]

    async def _load(self, some: Sequence[Understood]) -> None:
        wanted = held_marks.united((one.entity_id, one.instances) for one in some)
        self.marks = self.ledger.marks
        await self.marks.more(self.connection, held_marks.windows(wanted))
        made = held_marks.united((one.entity_id, one.instances) for one in some if one.produced)
        # What was produced of each entity so far: (instances, when, content).
        self.made: dict[int, list[tuple[Ordinals, dt.datetime, str | None]]] = {}
        for version in await store.versions(self.connection, held_marks.windows(made), self.ledger.seq):
            stretch = Ordinals.between(version.start_, version.end_)
            self.made.setdefault(version.entity_id, []).append((stretch, version.produced_at, version.fingerprint))
        asked = {(one.entity_id, one.said.ref) for one in some if one.said.what in _OF_RUNS and one.said.ref}
        self.over: dict[tuple[int, str], Ordinals] = {}
        self.began: dict[tuple[int, str], dt.datetime] = {}
        for entity_id, run, what, at, first, end in await store.runs(self.connection, sorted(asked)):
            self._ran(entity_id, run, what, at, Ordinals.between(first, end))
        self.judge = await Judge.load(self.ledger, self.held, some)

    def _ran(self, entity_id: int, run: str, what: str, at: dt.datetime, some: Ordinals) -> None:
        key = entity_id, run
        if what == "started":
            self.began[key] = min(at, self.began.get(key, at))
        else:
            self.over[key] = self.over.get(key, NONE) | some

    def _again(self, one: Understood, existed: Ordinals) -> Ordinals:
        """What was there before with other content, as far as that is known."""
        if one.said.fingerprint is None:
            return existed
        last = NONE
        for some, at, fingerprint in self.made.get(one.entity_id, []):
            if at <= one.at:
                last = last | some if fingerprint == one.said.fingerprint else last - some
        return existed - last

    def _began(self, one: Understood) -> dt.datetime:
        """When the run began; where nobody said, when it was done."""
        return min(one.at, self.began.get((one.entity_id, one.said.ref), one.at))

    async def _one(self, one: Understood, actor: str) -> Taken:
        declared_ = self.held.one(one.name)
        before = self.marks.of(one.entity_id)
        heeded = one.instances
        if one.produced:
            newer = [some for some, at, _ in self.made.get(one.entity_id, []) if at > one.at]
            heeded -= NONE.union(*newer)
        elif isinstance(one.report, Started):
            # A start that comes after its run's end says nothing new.
            heeded -= self.over.get((one.entity_id, one.report.run), NONE)
        late = one.instances - heeded
        states = tuple(declared_.entity.states) or (COMPLETED,)
        try:
            now = before
            if one.produced and late:
                now = now.without({mark: late for mark in now if mark == Mark("running", one.said.ref)})
            now = after(now, one.report, heeded, states, compatible=_compatible(declared_.compatible))
        except HeadwaterError as error:
            return _refused(error)
        found = {one.entity_id: now}
        if one.produced and self.judge is not None:
            found |= await self.judge.judged(one, now, heeded, before.exist, self.ledger.seq, self._began(one))
        self.ledger.report(
            one.entity_id,
            one.said.what,
            one.said.ref,
            one.instances,
            actor=actor,
            reason=one.said.reason,
            at=one.at,
            key=one.key,
            said={field: value for field in _KEPT if (value := getattr(one.said, field))},
        )
        changed = self.ledger.change({one.entity_id: found.pop(one.entity_id)})
        seq = self.ledger.seq
        if one.produced and (again := self._again(one, heeded & before.exist)):
            found |= await stale(self.connection, self.held, self.marks, one.name, again, found)
        for number, marks in found.items():
            # Who is right because this turned out to be, and who is stale because this is new.
            if some := self.ledger.touched(number, marks):
                self.ledger.report(number, "followed", f"seq {seq}", some, actor=actor)
                self.ledger.change({number: marks})
        if one.produced:
            self._version(one, seq)
        elif one.said.what == "deleted" and self.judge is not None:
            self.judge.deleted.append((one.entity_id, one.instances, seq))
        if one.said.what in _OF_RUNS and one.said.ref:
            self._ran(one.entity_id, one.said.ref, one.said.what, one.at, one.instances)
        shown = ranges.written(declared_.entity.instances, late) if late else []
        return Taken(seq, changed=changed, late=shown)

    def _version(self, one: Understood, seq: int) -> None:
        said = one.said
        storage = msgspec.json.encode(said.storage).decode() if said.storage is not None else None
        for start, end in one.instances:
            self.ledger.versions.append(
                store.Version(
                    one.entity_id,
                    seq,
                    start,
                    end,
                    one.at,
                    said.ref,
                    said.code,
                    said.fingerprint,
                    storage,
                    said.rows,
                    said.bytes,
                    one.reads is not None,
                )
            )
        self.made.setdefault(one.entity_id, []).append((one.instances, one.at, said.fingerprint))
        read_seq = seq - 1 if said.seq is None else min(said.seq, seq - 1)
        for upstream_id, _, some in one.reads or ():
            self.ledger.reads += [store.Read(seq, upstream_id, start, end, read_seq) for start, end in some]


def _compatible(groups: Sequence[Sequence[str]]) -> set[str]:
    """Those that may stand beside completed."""
    return {state for group in groups if "completed" in group for state in group}


def _refused(error: HeadwaterError) -> Taken:
    return Taken(None, refused=Refused(error.code, error.message, error.detail))
