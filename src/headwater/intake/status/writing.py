"""Write the reports of runs' events to the status log, in one transaction and in the order of the events.

Two parts of a report are only known at its turn. A run read what was current when it started. If a run reports both failure and completion, only
instances whose current version is its own are doubted.
"""

import datetime as dt
import uuid
from collections import Counter
from typing import NamedTuple

import msgspec

from headwater import telemetry
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.reports import Batch, SentReport
from headwater.intake.status.request import Reported
from headwater.intake.status.run_reports import Reports
from headwater.intake.status.run_summary import RunSummary
from headwater.model.names import JobName
from headwater.store.database import Connection
from headwater.store.status import feed
from headwater.store.status import status as store

ACTOR = "openlineage"
"""The actor of reports that come from events."""

_Run = tuple[uuid.UUID, JobName]


class _Ended(NamedTuple):
    entities: set[str]
    at: dt.datetime
    digest: bytes


class Writing:
    """`live`: events are fed as they arrive, so the time of receipt determines which seq was current."""

    def __init__(self, connection: Connection, held: StoredDeclarations, *, live: bool) -> None:
        self._connection, self._held, self._live = connection, held, live
        self._pending: list[Reported] = []
        self._begun: dict[_Run, int] = {}  # before which pending report a run began
        self._starts: dict[_Run, int] = {}  # and as of which seq, once those are written
        self._doubts: list[Reported] = []
        self._ended: dict[str, _Ended] = {}
        self._outcomes: Counter[str] = Counter()

    async def add(self, summary: RunSummary, reports: Reports, *, begins: bool) -> None:
        """Add the reports of a run as of one event. `begins`: the event is the run's start."""
        run = (summary.run, summary.job)
        if begins:
            self._begun.setdefault(run, len(self._pending))
        for report in reports.reports:
            if report.reads:
                seq = await self._as_of(summary, report)
                self._pending.append(msgspec.structs.replace(report, seq=seq))
            else:
                self._pending.append(report)
        self._doubts += reports.doubts
        if ends := (*summary.completes, *summary.failures):
            entities = {report.entity for report in reports.reports} | {one.entity for one in reports.unplaced}
            before = self._ended.get(str(summary.run))
            self._ended[str(summary.run)] = _Ended(
                entities | (before.entities if before else set()), ends[-1].at, ends[-1].digest
            )

    async def end(self) -> Counter[str]:
        """Write all pending reports. Returns how many were `taken`, `duplicate` and `refused`."""
        await self._flush()
        self._pending = [*await self._left_running(), *await self._doubted()]
        await self._flush()
        return self._outcomes

    async def _as_of(self, summary: RunSummary, report: Reported) -> int | None:
        """The seq that was current when the run started; None if its start was not seen, then the seq at its end counts."""
        run = (summary.run, summary.job)
        if run in self._begun:
            await self._flush()
        if run in self._starts:
            return self._starts[run]
        key = (self._held.number(report.entity), str(summary.run))
        if (started := (await feed.started(self._connection, [key])).get(key)) is not None:
            return started - 1
        if summary.starts and self._live:
            return await store.seq_at(self._connection, summary.starts[0].received_at)
        return None

    async def _flush(self) -> None:
        if not self._pending:
            await self._begin_at_last({})
            return
        ledger = await Ledger.open(self._connection)
        before = ledger.seq
        sent = [SentReport(report, ACTOR) for report in self._pending]
        _, results = await Batch(self._connection, ledger, self._held, sent).write()
        seqs = {0: before}
        for place, (report, outcome) in enumerate(zip(self._pending, results, strict=True), 1):
            new = outcome.seq is not None and not outcome.duplicate
            seqs[place] = outcome.seq if new and outcome.seq is not None else seqs[place - 1]
            self._outcomes["taken" if new else "duplicate" if outcome.duplicate else "refused"] += 1
            if outcome.refused is not None:
                telemetry.say(telemetry.StatusRefused(report.entity, report.ref, outcome.refused.message))
        seqs[len(results)] = ledger.seq
        self._pending = []
        await self._begin_at_last(seqs)

    async def _begin_at_last(self, seqs: dict[int, int]) -> None:
        """Note the start seq of each run that began since: the seq of the report before it, by that report's place."""
        if self._begun and not seqs:
            seqs = {0: (await store.last(self._connection))[0]}
        self._starts |= {run: seqs[place] for run, place in self._begun.items() if run not in self._starts}
        self._begun = {}

    async def _left_running(self) -> list[Reported]:
        """`failed` reports for instances that a run's first events announced and its later events show it did not make."""
        found = []
        for entity_id, run, start, end in await feed.running(self._connection, sorted(self._ended)):
            ended, name = self._ended[run], self._held.names.get(entity_id)
            if name in ended.entities:
                texts = ranges.written(self._held.instances(name), Ordinals.between(start, end))
                key = f"left {ended.digest.hex()} {','.join(texts)}"
                found.append(Reported(entity=name, what="failed", instances=texts, ref=run, at=ended.at, key=key))
        return found

    async def _doubted(self) -> list[Reported]:
        """The doubts, limited to instances whose current version is the run's own."""
        found = []
        for doubt in self._doubts:
            run = (doubt.key or "").split()[0]
            has, number = self._held.instances(doubt.entity), self._held.number(doubt.entity)
            wanted = ranges.read(has, doubt.instances)
            windows = [(number, start, end) for start, end in wanted]
            mine = NONE
            for version in await store.versions(self._connection, windows, 2**62):
                stretch = Ordinals.between(version.start_, version.end_)
                mine = mine | stretch if version.run == run else mine - stretch
            if mine & wanted:
                found.append(msgspec.structs.replace(doubt, instances=ranges.written(has, mine & wanted)))
        return found
