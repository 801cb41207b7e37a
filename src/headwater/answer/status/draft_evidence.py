"""Runs as evidence of how a dataset is cut by time and of what is needed for it: from what was recorded to a draft. No I/O.

An interval says more than a partition, and a partition more than when something was updated, which says only how often. Runs that say of several
instances what they read are no evidence of what one of them needs.
"""

import bisect
import json
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from headwater.entities.inference.consumed import Consumed, Read, consumed, kind
from headwater.entities.inference.cut import Cut, begun, of_intervals, of_starts, of_updates
from headwater.entities.inference.draft import Need
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.written_times import Stretch, joined, stretch, written
from headwater.entities.time.zones import seconds
from headwater.errors import InvalidCalendar
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, from_location, normalised
from headwater.store.status.entity_drafts import RunFor, Touched

Parts = Sequence[Mapping[str, str]]
RunKey = tuple[uuid.UUID, uuid.UUID]

_KEY_VALUE = re.compile(r"([^/=]+)=([^/]*)")
_RECENT = 10  # runs of a job whose inputs count, as lineage has it
_OFTEN = 0.5
_CALENDARS = ("day", "week", "quarter")  # in which of these a part is written is not known yet
FEWEST = 2


class Evidence:
    """All runs of the jobs in question, by what they read and wrote."""

    def __init__(
        self,
        runs: Iterable[RunFor],
        touched: Iterable[Touched],
        names: Mapping[uuid.UUID, DatasetName],
        identity: Identity,
    ) -> None:
        self.runs: dict[RunKey, RunFor] = {(run.job, run.run): run for run in runs}
        self._written: dict[uuid.UUID, list[tuple[RunFor, Parts]]] = {}
        self._read: dict[RunKey, dict[uuid.UUID, Parts]] = {}
        self._by_job: dict[uuid.UUID, list[RunKey]] = {}
        for key in self.runs:
            self._by_job.setdefault(key[0], []).append(key)
        for one in touched:
            key = (one.job, one.run)
            parts = _parts(names.get(one.dataset), one.parts, identity)
            if one.direction == "out":
                self._written.setdefault(one.dataset, []).append((self.runs[key], parts))
            else:
                self._read.setdefault(key, {})[one.dataset] = parts
        for some in self._written.values():
            some.sort(key=lambda each: (each[0].started, each[0].run))

    def written(self, dataset: uuid.UUID) -> Sequence[tuple[RunFor, Parts]]:
        """Runs that wrote it, with the parts they wrote; those that began earlier first."""
        return self._written.get(dataset, ())

    def parts_read(self, run: RunFor, dataset: uuid.UUID) -> Parts:
        return self._read.get((run.job, run.run), {}).get(dataset, ())

    def inputs(self, dataset: uuid.UUID) -> dict[uuid.UUID, str]:
        """Return the datasets that the latest runs that wrote it read; each with why it is not needed, if most of them
        did not read it ("" otherwise)."""
        by_job: dict[uuid.UUID, list[RunFor]] = {}
        for run, _ in self.written(dataset):
            by_job.setdefault(run.job, []).append(run)
        found: dict[uuid.UUID, str] = {}
        for runs in by_job.values():
            latest = runs[-_RECENT:]
            counts = Counter(one for run in latest for one in self._read.get((run.job, run.run), {}))
            for one, count in counts.items():
                rarely = (
                    "" if count >= _OFTEN * len(latest) else f"read by {count} of the latest {len(latest)} runs only"
                )
                found[one] = found.get(one, rarely) and rarely
        return found


class CutEvidence(NamedTuple):
    """The way a dataset is cut by time: `cut` is None if it is unclear, and `why` says so. `notes`: what else was observed."""

    cut: Cut | None
    instances: Instances | None = None
    why: str = ""
    notes: tuple[str, ...] = ()


def cut_evidence(runs: Sequence[tuple[RunFor, Parts]], zones: Sequence[str]) -> CutEvidence:
    """Return evidence of a cut from the runs that wrote a dataset. `zones`: time zones of other entities, the likeliest first."""
    nominal, starts = _nominal(runs, zones)
    zone = nominal.period.get("tz", "UTC") if nominal is not None else (*zones, "UTC")[0]
    parts, part_starts = _partitions(runs, zone)
    notes: tuple[str, ...] = ()
    cut = nominal
    if nominal is None:
        cut, starts = parts, part_starts
    elif parts is not None and "offset" in nominal.period and nominal.period["every"] == parts.period["every"]:
        # A job that runs at six makes the partition of a date, not of a business day.
        cut, starts = parts, part_starts
    if cut is None:
        starts = [seconds(run.ended) for run, _ in runs]
        cut = of_updates([run.ended.timestamp() for run, _ in runs])
    if cut is None:
        return CutEvidence(None, why=_why(len(runs)))
    if cut.alike:
        more = f" and {len(cut.alike) - 5} more" if len(cut.alike) > 5 else ""
        notes = (*notes, f"fits as well: {', '.join(cut.alike[:5])}{more}; say which it is")
    first = _first(cut, starts)
    of_nominal = cut is nominal
    cut = cut._replace(period={**cut.period, "from": begun(cut.period, first)})
    instances = Instances.of(cut.period)
    if of_nominal and (unlike := _unlike(instances, runs)):
        notes = (*notes, unlike)
    return CutEvidence(cut, instances, notes=notes)


def _unlike(instances: Instances, runs: Sequence[tuple[RunFor, Parts]]) -> str:
    """Return the note to show if most runs wrote other partitions than those they were for, else ""."""
    both = [
        (written(instances.calendar, some)[0], written_instances(instances, run, ()))
        for run, parts in runs
        if (some := _stretches(instances.calendar, parts))
    ]
    unlike = sum(wrote != was_for for wrote, was_for in both)
    if unlike * 2 <= len(both):
        return ""
    return f"{unlike} of {len(both)} runs wrote other partitions than those of the periods they were for"


def needs(
    evidence: Evidence,
    dataset: uuid.UUID,
    own: Instances,
    upstream: Mapping[uuid.UUID, Sequence[tuple[str, Instances | None]]],
    missing: Mapping[uuid.UUID, tuple[str, str]],
) -> tuple[list[Need], str, str]:
    """Return the needs of a dataset, with the kind and window that they are evidence of.

    upstream: the entities that a dataset holds; without instances: static. missing: the node id of each other input,
    and why it is no entity.
    """
    links: list[tuple[str, uuid.UUID, Instances | None, str]] = []
    left: list[Need] = []
    for one, rarely in evidence.inputs(dataset).items():
        links += [(name, one, instances, rarely) for name, instances in upstream.get(one, ())]
        if one not in upstream and one in missing:
            left.append(Need(missing[one][0], left_out=missing[one][1]))
    links.sort(key=lambda link: (link[0], str(link[1])))
    seen: dict[str, Consumed] = {}
    for name, one, instances, rarely in links:
        if instances is not None and not rarely and name not in seen:
            some = consumed(own, instances, _reads(evidence, dataset, own, one, instances))
            if some is not None:
                seen[name] = some
    what, window = kind(seen)
    usual = {"sliding": f"last {window}", "snapshot": "everything"}.get(what, "same")
    found: dict[str, Need] = {}
    for name, _, instances, rarely in links:
        if rarely:
            found.setdefault(name, Need(name, left_out=rarely))
        elif (some := seen.get(name)) is not None:
            found[name] = Need(name, None if some.dates == usual else some.dates, some.evidence, some.confidence)
        else:
            said = "static" if instances is None else "nothing says which were read"
            found[name] = Need(name, None, said)
    return [*found.values(), *sorted(left)], what, window


def written_instances(instances: Instances, run: RunFor, parts: Parts) -> Ordinals:
    """Return the instances that a run made: those whose partitions it wrote, else those it was for."""
    calendar = instances.calendar
    whole, _ = written(calendar, _stretches(calendar, parts))
    if not whole and run.nominal_start is not None:
        try:
            first = calendar.at(run.nominal_start)
            late = run.nominal_end is not None and run.nominal_end > run.nominal_start
            after = calendar.at(run.nominal_end) if late and run.nominal_end is not None else first + 1
        except InvalidCalendar:
            return NONE
        whole = Ordinals.between(first, after) if first < after else NONE
    return whole & instances.all


def _reads(
    evidence: Evidence, dataset: uuid.UUID, own: Instances, upstream: uuid.UUID, theirs: Instances
) -> list[Read]:
    there = sorted(
        (seconds(run.ended), at)
        for run, parts in evidence.written(upstream)
        for at in written_instances(theirs, run, parts).members().tolist()
    )
    ends = [end for end, _ in there]
    found = []
    for run, parts in evidence.written(dataset):
        mine = written_instances(own, run, parts)
        whole, near = written(theirs.calendar, _stretches(theirs.calendar, evidence.parts_read(run, upstream)))
        used = (whole or near) & theirs.all
        if mine.count != 1 or not used:
            continue
        known = Ordinals.of([at for _, at in there[: bisect.bisect_right(ends, seconds(run.started))]])
        found.append(Read(mine.first, used, known or theirs.over(run.started)))
    return found


def _nominal(runs: Sequence[tuple[RunFor, Parts]], zones: Sequence[str]) -> tuple[Cut | None, list[int]]:
    """Return the cut by the periods that the runs were for, and the instants at which these began."""
    some = [run for run, _ in runs if run.nominal_start is not None]
    starts = [seconds(run.nominal_start) for run in some if run.nominal_start is not None]
    whole = [
        (seconds(run.nominal_start), seconds(run.nominal_end))
        for run in some
        if run.nominal_start is not None and run.nominal_end is not None and run.nominal_start < run.nominal_end
    ]
    if len(whole) * 2 >= len(some):
        return of_intervals(whole, zones=zones), [start for start, _ in whole]
    return of_starts(starts, "nominal times", zones), starts


def _partitions(runs: Sequence[tuple[RunFor, Parts]], zone: str) -> tuple[Cut | None, list[int]]:
    """Return the cut by the partitions that were written, in one zone: as intervals, or as the first of a longer period
    if they lie apart; and their starts."""
    intervals = []
    for _, parts in runs:
        for unit in _CALENDARS:
            if some := joined(_stretches(Calendar.every(unit, zone), parts)):
                intervals += some if len(some) == 1 else []
                break
    intervals = sorted(set(intervals))
    starts = [start for start, _ in intervals]
    zones = (zone,)
    ends = {end for _, end in intervals}
    apart = sum(start not in ends for start in starts) * 2 > len(starts) + 1
    found = (of_starts(starts, "partitions", zones) if apart else None) or of_intervals(intervals, "partitions", zones)
    return found, starts


def _stretches(calendar: Calendar, parts: Parts) -> list[Stretch]:
    return [time for part in parts if (time := stretch(calendar, part)) is not None]


def _first(cut: Cut, starts: Sequence[int]) -> int:
    """Return the instant at which the first observed period begins; if none begins at a start, the earliest start."""
    calendar = Instances.of(cut.period).calendar
    exact = [start for start in starts if int(calendar.begins([calendar.at(start)])[0]) == start]
    return min(exact or starts)


def _why(updates: int) -> str:
    if updates < FEWEST:
        return "updated once; if it is not cut by time, declare it with kind: static"
    return f"no rhythm in {updates} updates; if it is not cut by time, declare it with kind: static"


def _parts(name: DatasetName | None, texts: Collection[str], identity: Identity) -> Parts:
    """The parts as dimensions and values, locations and partitions taken apart."""
    found = []
    for text in texts:
        one = json.loads(text)
        if (location := one.get("location")) and name is not None:
            place = (
                from_location(location, partitions=True) if "://" in location else normalised(name.namespace, location)
            )
            found.append(dict(identity.place(place).part))
        elif path := one.get("partition"):
            found.append(dict(_KEY_VALUE.findall(path)) or one)
        else:
            found.append(one)
    return [one for one in found if one]
