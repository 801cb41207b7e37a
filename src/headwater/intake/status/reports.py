"""Record reports about instances: append them to the status log and update the marks, in one transaction.

Only one transaction writes at a time, across all servers. So reports become visible in the order of their seq, and each is judged on the
current marks. Reports that arrive while a transaction runs share the next one (`Batcher`), which keeps this cheap.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec

from headwater import telemetry
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.status.marks import Mark, Marks, difference
from headwater.entities.status.transitions import Started, after
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import DatabaseRefused, HeadwaterError
from headwater.intake.events.batcher import Batcher
from headwater.intake.events.bisection import isolate_failures
from headwater.intake.status import loaded_marks
from headwater.intake.status.declared import in_state
from headwater.intake.status.judgement import Judge
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.request import AHEAD, Reported, ResolvedReport, resolve_report
from headwater.intake.status.staleness import stale
from headwater.store.database import Connection, Database
from headwater.store.status import status as store

_LOGGED_FIELDS = ("states", "remove", "seq", "code", "fingerprint", "storage", "rows", "bytes", "right")
"""Fields of a report that the log stores as JSON, besides its columns."""
_OF_RUNS = {"started", "produced", "failed"}
_PORTION = 500
"""The number of reports of a call that are committed together: other calls are written in between, and a repetition stays cheap."""
_PORTION_BYTES = 1024 * 1024
"""About how many bytes of reports, of several calls, are written in one transaction."""


class Refused(msgspec.Struct, frozen=True):
    """The reason for which a report was refused."""

    code: str
    message: str
    detail: dict[str, Any] = {}


class ReportOutcome(msgspec.Struct, frozen=True):
    """The outcome of a report. `seq`: its number in the log; null if it was refused. `duplicate`: it was recorded before, under that seq.

    `changed`: whether it changed any mark. `late`: the instances that have a newer version, which stays current. `corrected_at`: the time that was
    recorded instead of the reported one, which is in the future, or by a clock that is off.
    """

    seq: int | None
    duplicate: bool = False
    changed: bool = False
    late: list[str] = []
    corrected_at: dt.datetime | None = None
    refused: Refused | None = None


class Recorded(msgspec.Struct, frozen=True):
    """One result for each report, in order, and the last seq of the log after them."""

    seq: int
    results: list[ReportOutcome]


class SentReport(msgspec.Struct, frozen=True):
    """A report and its sender. `offset`: what to add to its time, since the sender's clock is off by so much."""

    report: Reported
    actor: str
    offset: dt.timedelta = dt.timedelta()


class StatusIntake:
    """Accepts reports; those that arrive at the same time are written together."""

    def __init__(self, database: Database, ahead: dt.timedelta = AHEAD) -> None:
        self._batcher: Batcher[list[SentReport], Recorded] = Batcher(
            lambda requests: _record_requests(database, requests, ahead), most_bytes=_PORTION_BYTES
        )

    async def add(
        self, reports: Sequence[Reported], actor: str, call: str | None = None, offset: dt.timedelta = dt.timedelta()
    ) -> Recorded:
        """Record reports, in order; they are committed on return. The result of an invalid report says why; the others are recorded.

        Many are committed in portions, so a call that is broken off has recorded its first ones. `call`: the id of the call. Sent again with the
        same id, reports without a key of their own are recorded once. `offset`: what to add to their times.
        """
        sent = [
            SentReport(report if call is None else _with_key(report, call, place), actor, offset)
            for place, report in enumerate(reports)
        ]
        recorded, results = Recorded(0, []), list[ReportOutcome]()
        for first in range(0, len(sent), _PORTION):
            portion = sent[first : first + _PORTION]
            size = sum(len(each.report.instances) * 24 + 400 for each in portion)
            recorded = await self._batcher.add(portion, size)
            results += recorded.results
        return Recorded(recorded.seq, results)


def _with_key(report: Reported, call: str, place: int) -> Reported:
    return report if report.key is not None else msgspec.structs.replace(report, key=f"call {call} {place}")


async def _record_requests(
    database: Database, requests: Sequence[list[SentReport]], ahead: dt.timedelta
) -> list[Recorded]:
    """Record the reports of several requests in one transaction."""
    seq, results = await record(database, [report for reports in requests for report in reports], ahead)
    recorded, at = [], 0
    for reports in requests:
        recorded.append(Recorded(seq, results[at : at + len(reports)]))
        at += len(reports)
    return recorded


async def record(
    database: Database, reports: Sequence[SentReport], ahead: dt.timedelta = AHEAD
) -> tuple[int, list[ReportOutcome]]:
    """Record reports in one transaction. Returns the last seq, and the outcome of each report in order.

    If the database refuses them, those that it refuses alone are found, and their neighbours are recorded. `ahead`: how far in the future their
    times may be.
    """
    seq, results = 0, list[ReportOutcome]()

    async def attempt(some: Sequence[SentReport]) -> None:
        nonlocal seq
        async with database.transaction() as connection:
            ledger = await Ledger.open(connection)
            held = await in_state(connection, ledger.began.declared)
            seq, outcomes = await Batch(connection, ledger, held, some, ahead).write()
        results.extend(outcomes)

    def refuse(place: int, error: Exception) -> None:
        telemetry.say(telemetry.ReportRefused(reports[place].report.entity, str(error)))
        reason = "the database refuses this report: remove null characters, and numbers of more than 63 bits"
        results.append(ReportOutcome(None, refused=Refused(DatabaseRefused.code, reason)))

    await isolate_failures(reports, attempt, DatabaseRefused, refuse)
    return seq, results


class Batch:
    """Reports that are written in one transaction, each on the marks that the one before left."""

    def __init__(
        self,
        connection: Connection,
        ledger: Ledger,
        held: StoredDeclarations,
        reports: Sequence[SentReport],
        ahead: dt.timedelta = AHEAD,
    ) -> None:
        self.ahead = ahead
        self.connection = connection
        self.ledger = ledger
        self.held = held
        self.reports = reports

    async def write(self) -> tuple[int, list[ReportOutcome]]:
        results: dict[int, ReportOutcome] = {}
        resolved: dict[int, ResolvedReport] = {}
        for place, sent in enumerate(self.reports):
            try:
                resolved[place] = resolve_report(sent.report, self.held, self.ledger.now, self.ahead, sent.offset)
            except HeadwaterError as error:
                results[place] = _refused(error)
        seqs = await store.seen_keys(self.connection, [report.key for report in resolved.values()])
        await self._load([report for report in resolved.values() if report.key not in seqs])
        for place, report in resolved.items():
            if report.key in seqs:
                results[place] = ReportOutcome(seqs[report.key], duplicate=True)
                continue
            outcome = results[place] = await self._record(report, self.reports[place].actor)
            if outcome.seq is not None:
                seqs[report.key] = outcome.seq
        await self.ledger.flush()
        return self.ledger.seq, [results[place] for place in range(len(self.reports))]

    async def _load(self, reports: Sequence[ResolvedReport]) -> None:
        wanted = loaded_marks.united((report.entity_id, report.instances) for report in reports)
        self.marks = self.ledger.marks
        await self.marks.more(self.connection, loaded_marks.windows(wanted))
        produced = loaded_marks.united((report.entity_id, report.instances) for report in reports if report.produced)
        # The versions of each entity so far, in the order in which they were produced.
        self.versions: dict[int, list[store.Version]] = {}
        for version in await store.versions(self.connection, loaded_marks.windows(produced), self.ledger.seq):
            self.versions.setdefault(version.entity_id, []).append(version)
        runs = {
            (report.entity_id, report.reported.ref)
            for report in reports
            if report.reported.what in _OF_RUNS and report.reported.ref
        }
        # By entity and run: the instances that the run has ended for, and when the run began.
        self.ended: dict[tuple[int, str], Ordinals] = {}
        self.began: dict[tuple[int, str], dt.datetime] = {}
        for entity_id, run, what, at, first, end in await store.runs(self.connection, sorted(runs)):
            self._note_run(entity_id, run, what, at, Ordinals.between(first, end))
        self.judge = await Judge.load(self.ledger, self.held, reports)

    def _note_run(self, entity_id: int, run: str, what: str, at: dt.datetime, some: Ordinals) -> None:
        key = entity_id, run
        if what == "started":
            self.began[key] = min(at, self.began.get(key, at))
        else:
            self.ended[key] = self.ended.get(key, NONE) | some

    def _replaced(self, resolved: ResolvedReport, existed: Ordinals) -> Ordinals:
        """The existing instances whose content the report replaces; without a fingerprint, all of them."""
        if resolved.reported.fingerprint is None:
            return existed
        last = NONE
        for version in self.versions.get(resolved.entity_id, []):
            if version.produced_at <= resolved.at:
                same = version.fingerprint == resolved.reported.fingerprint
                last = last | _instances(version) if same else last - _instances(version)
        return existed - last

    async def _repeated(self, resolved: ResolvedReport, before: Marks, now: Marks) -> int | None:
        """The seq of the version that the report repeats; None if it is a new one.

        A run makes an instance once: a `produced` without a time or a key of its own, of the run whose version is current, with the same content,
        is that version sent again, unless it would change a mark (a deleted or wrong instance that the run made again).
        """
        reported = resolved.reported
        if not resolved.produced or not reported.ref or reported.at is not None or reported.key is not None:
            return None
        if any(difference(before, now)):
            return None
        first, end = resolved.instances.first, resolved.instances.end
        versions = [
            version
            for version in self.versions.get(resolved.entity_id, [])
            if version.start_ < end and version.end_ > first and _instances(version) & resolved.instances
        ]
        if not versions:
            return None
        last = max(versions, key=lambda version: (version.produced_at, version.seq))
        mine = [_instances(version) for version in versions if version.seq == last.seq]
        if _content(last) != _content(_version(resolved, last.seq, 0, 1)) or resolved.instances - NONE.union(*mine):
            return None
        if not last.complete:
            return last.seq
        read = {(each.upstream_id, each.start_, each.end_) for each in await store.reads(self.connection, [last.seq])}
        read |= {(each.upstream_id, each.start_, each.end_) for each in self.ledger.reads if each.seq == last.seq}
        same = {(upstream, start, end) for upstream, _, some in resolved.reads or () for start, end in some} == read
        return last.seq if same else None

    def _began(self, resolved: ResolvedReport) -> dt.datetime:
        """Return when the run began; if that was not reported, when it ended."""
        return min(resolved.at, self.began.get((resolved.entity_id, resolved.reported.ref), resolved.at))

    async def _record(self, resolved: ResolvedReport, actor: str) -> ReportOutcome:
        declared_ = self.held.declaration(resolved.name)
        before = self.marks.of(resolved.entity_id)
        current = resolved.instances
        if resolved.produced:
            versions = self.versions.get(resolved.entity_id, [])
            current -= NONE.union(*(_instances(version) for version in versions if version.produced_at > resolved.at))
        elif isinstance(resolved.report, Started):
            # A start that arrives after its run's end changes nothing.
            current -= self.ended.get((resolved.entity_id, resolved.report.run), NONE)
        late = resolved.instances - current
        states = tuple(declared_.entity.states) or (COMPLETED,)
        try:
            now = before
            if resolved.produced and late:
                now = now.without({mark: late for mark in now if mark == Mark("running", resolved.reported.ref)})
            now = after(now, resolved.report, current, states, compatible=_compatible(declared_.compatible))
        except HeadwaterError as error:
            return _refused(error)
        if (repeated := await self._repeated(resolved, before, now)) is not None:
            return ReportOutcome(repeated, duplicate=True)
        changes = {resolved.entity_id: now}
        if resolved.produced and self.judge is not None:
            changes |= await self.judge.judge(
                resolved, now, current, before.exist, self.ledger.seq, self._began(resolved)
            )
        self.ledger.report(
            resolved.entity_id,
            resolved.reported.what,
            resolved.reported.ref,
            resolved.instances,
            actor=actor,
            reason=resolved.reported.reason,
            at=resolved.at,
            key=resolved.key,
            fields={field: value for field in _LOGGED_FIELDS if (value := getattr(resolved.reported, field))},
        )
        changed = self.ledger.change({resolved.entity_id: changes.pop(resolved.entity_id)})
        seq = self.ledger.seq
        if resolved.produced and (replaced := self._replaced(resolved, current & before.exist)):
            changes |= await stale(self.connection, self.held, self.marks, resolved.name, replaced, changes)
        for number, marks in changes.items():
            # Entities that are right again because this version is, or stale because it is new.
            if instances := self.ledger.touched(number, marks):
                self.ledger.report(number, "followed", f"seq {seq}", instances, actor=actor)
                self.ledger.change({number: marks})
        if resolved.produced:
            self._add_version(resolved, seq)
        elif resolved.reported.what == "deleted" and self.judge is not None:
            self.judge.deleted.append((resolved.entity_id, resolved.instances, seq))
        if resolved.reported.what in _OF_RUNS and resolved.reported.ref:
            self._note_run(
                resolved.entity_id, resolved.reported.ref, resolved.reported.what, resolved.at, resolved.instances
            )
        late_texts = ranges.written(declared_.entity.instances, late) if late else []
        return ReportOutcome(
            seq, changed=changed, late=late_texts, corrected_at=resolved.at if resolved.corrected else None
        )

    def _add_version(self, resolved: ResolvedReport, seq: int) -> None:
        new = [_version(resolved, seq, start, end) for start, end in resolved.instances]
        self.ledger.versions += new
        self.versions.setdefault(resolved.entity_id, []).extend(new)
        read_seq = seq - 1 if resolved.reported.seq is None else min(resolved.reported.seq, seq - 1)
        for upstream_id, _, instances in resolved.reads or ():
            self.ledger.reads += [store.Read(seq, upstream_id, start, end, read_seq) for start, end in instances]


def _version(resolved: ResolvedReport, seq: int, start: int, end: int) -> store.Version:
    """The version that a `produced` report leaves of one run of its instances."""
    reported = resolved.reported
    storage = msgspec.json.encode(reported.storage).decode() if reported.storage is not None else None
    return store.Version(
        resolved.entity_id,
        seq,
        start,
        end,
        resolved.at,
        reported.ref,
        reported.code,
        reported.fingerprint,
        storage,
        reported.rows,
        reported.bytes,
        resolved.reads is not None,
    )


def _instances(version: store.Version) -> Ordinals:
    return Ordinals.between(version.start_, version.end_)


def _content(version: store.Version) -> tuple[object, ...]:
    """Return what identifies a version's content, whenever and of whichever instances it was made."""
    storage = msgspec.json.decode(version.storage) if version.storage is not None else None
    return (
        version.run,
        version.code,
        version.fingerprint,
        storage,
        version.row_count,
        version.byte_count,
        version.complete,
    )


def _compatible(groups: Sequence[Sequence[str]]) -> set[str]:
    """The states that an instance may have together with `completed`."""
    return {state for group in groups if "completed" in group for state in group}


def _refused(error: HeadwaterError) -> ReportOutcome:
    return ReportOutcome(None, refused=Refused(error.code, error.message, error.detail))
