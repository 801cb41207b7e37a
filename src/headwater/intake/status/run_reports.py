"""OpenLineage's events as reports about instances: what the events of one run say was started, made and not made. Pure.

Only what is declared is spoken of: an entity that is `stored_in` a dataset that the run writes, or `produced_by` its job, or named by the run itself.
Which instances: `event_instances`. A run whose instances nobody tells is not guessed at, and said to be unplaced.
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from headwater.client.event import PRODUCER
from headwater.entities.declaration.declared import Declared
from headwater.entities.declaration.held import Held
from headwater.entities.needs.graph import COMPLETED
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE
from headwater.intake.events.correlation import ITEM
from headwater.intake.events.facets import decode_or_none
from headwater.intake.events.instances import NO_PERIOD, PERIOD, MatchedInstances, Period, instances, parts, period_of
from headwater.intake.status.request import Reported, What, WhatWasRead
from headwater.intake.status.run_summary import RunTold
from headwater.model import facets as known
from headwater.model import names, version
from headwater.model.event import DatasetReport, Facets
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, JobName

AIRFLOW = "airflow://"
NO_STATE = "no_state"
# What a run that says that it failed leaves in doubt, where it says that it completed, too.
BOTH = "run said failed and completed"
_NOT_MADE = frozenset({"DROP", "TRUNCATE", "RENAME", "ALTER"})
_FINGERPRINT = "xxh3-128"
_VERSIONS = {"delta": "delta_version", "iceberg": "iceberg_snapshot"}
_OURS = PRODUCER.rpartition("/")[0] + "/"
_NUMBER = re.compile("[0-9]{1,19}")


class Unplaced(NamedTuple):
    """A run of a job made something of an entity, and it is not known what: `why` is a reason of `event_instances`, or `no_state`: the entity has
    states, none of which is `completed`.
    """

    job: JobName
    entity: str
    why: str


class Reports(NamedTuple):
    """`reports`: what started and what ended, in that order. `doubts`: what to say of those instances whose version is this run's, which is the first
    word of their `key`.

    Neither has a `seq`, and both have a key, so that the same events say the same once.
    """

    reports: list[Reported]
    doubts: list[Reported]
    unplaced: list[Unplaced]


class Places:
    """Which entities a dataset holds and a job makes, as they are declared and under one set of rules about names."""

    def __init__(self, held: Held, identity: Identity) -> None:
        self.held, self.identity = held, identity
        self._stored: dict[DatasetName, list[str]] = defaultdict(list)
        self._made: dict[str, list[str]] = defaultdict(list)
        for declared in held.declared.values():
            for stored in declared.stored_in:
                names = self._stored[identity.place(DatasetName(*stored)).name]
                if declared.name not in names:
                    names.append(declared.name)
            for producer in declared.produced_by:
                self._made[producer.job].append(declared.name)

    def __bool__(self) -> bool:
        return bool(self.held.declared)

    def stored(self, report: DatasetReport) -> list[str]:
        """The entities that a dataset holds, by any name that the event has for it."""
        links = decode_or_none(known.symlinks, report.facets.get("symlinks")) or ()
        names = (report.name, *(link.name for link in links))
        return list(
            dict.fromkeys(each for name in names for each in self._stored.get(self.identity.place(name).name, ()))
        )

    def made(self, job: JobName) -> list[str]:
        """The entities that are declared to be made by a job, as `spellings` has it."""
        return list(dict.fromkeys(name for text in spellings(job) for name in self._made.get(text, ())))


def spellings(job: JobName) -> Iterator[str]:
    """How a job may be written in `produced_by`: `namespace/name`; one of Airflow also `airflow://namespace/dag/task`, whose name is `dag.task`."""
    yield f"{job.namespace}/{job.name}"
    space = job.namespace if job.namespace.startswith(AIRFLOW) else AIRFLOW + job.namespace
    yield f"{space}/{job.name}"
    for place, letter in enumerate(job.name):
        if letter == ".":
            yield f"{space}/{job.name[:place]}/{job.name[place + 1 :]}"


def reports(told: RunTold, places: Places, relatives: Sequence[Facets] = ()) -> Reports:
    """What one run's events say of instances. `relatives`: facets of its parent's run and of its root's, that far as they are known."""
    found = Reports([], [], [])
    runs = (told.facets, *relatives)
    for entity, outputs in _targets(told, places, runs).items():
        declared, period_ = places.held.declared[entity], _period(entity, runs)
        if period_ is not None and period_.reported:
            continue
        state = period_.state if period_ is not None else None
        made = _instances(declared, outputs, runs, places.identity)
        if state is None and declared.entity.states and COMPLETED not in declared.entity.states and told.completes:
            made = MatchedInstances(NONE, NO_STATE)
        if not made.instances:
            if told.starts or told.completes or told.failures:
                found.unplaced.append(Unplaced(told.job, entity, made.why))
            continue
        texts = ranges.written(declared.entity.instances, made.instances)
        facts = _facts(told, outputs) | ({"states": [state]} if state is not None else {})
        _say(found, told, entity, texts, facts, _reads(declared, told, places))
    return found


def _say(
    found: Reports,
    told: RunTold,
    entity: str,
    texts: list[str],
    facts: Mapping[str, Any],
    reads: list[WhatWasRead] | None,
) -> None:
    run = str(told.run)
    by: tuple[tuple[What, Any, dict[str, Any]], ...] = (
        ("started", told.starts, {}),
        ("produced", told.completes, {**facts, "reads": reads}),
        ("failed", told.failures, {}),
    )
    for what, events, more in by:
        for one in events:
            key = f"event {one.digest.hex()} {','.join(texts)}"
            found.reports.append(
                Reported(entity=entity, what=what, instances=texts, ref=run, at=one.at, key=key, **more)
            )
            if what == "failed" and told.completes:
                found.doubts.append(
                    Reported(entity=entity, what="doubted", instances=texts, ref=BOTH, at=one.at, key=f"{run} {key}")
                )


def _targets(told: RunTold, places: Places, runs: Sequence[Facets]) -> dict[str, list[DatasetReport]]:
    """The entities a run makes, each with the outputs that hold it; a run that dropped a table has not made it."""
    found: dict[str, list[DatasetReport]] = {}
    for report in told.outputs.values():
        if decode_or_none(known.lifecycle, report.facets.get("lifecycleStateChange")) not in _NOT_MADE:
            for entity in places.stored(report):
                found.setdefault(entity, []).append(report)
    for entity in places.made(told.job):
        found.setdefault(entity, [])
    named = decode_or_none(period_of, runs[0].get(PERIOD))
    if named is not None and named.entity in places.held.declared:
        found.setdefault(named.entity, [])
    return found


def _period(entity: str, runs: Sequence[Facets]) -> Period | None:
    """What our facet says of an entity: that of the run, or else of the runs above."""
    told = (decode_or_none(period_of, facets.get(PERIOD)) for facets in runs)
    return next((one for one in told if one is not None and one.entity in {None, entity}), None)


def _instances(
    declared: Declared, outputs: Sequence[DatasetReport], runs: Sequence[Facets], identity: Identity
) -> MatchedInstances:
    """What all outputs together say; one alone may say nothing."""
    has, found, why = declared.entity.instances, NONE, ""
    for here, written in [(one.io_facets, parts(one.name, one.io_facets, identity)) for one in outputs] or [({}, [])]:
        one = instances(declared.name, has, here, written, runs)
        found |= one.instances
        why = why or one.why
    return MatchedInstances(found, "" if found else why or NO_PERIOD)


def _reads(declared: Declared, told: RunTold, places: Places) -> list[WhatWasRead] | None:
    """What the run read, where all of that is known: every entity that is declared to be needed is among the inputs, and of every input that is an
    entity it is told which instances. None otherwise: part of it would be taken for the whole.
    """
    found = dict[str, Any]()
    for name, report in told.inputs.items():
        for entity in places.stored(report):
            has = places.held.instances(entity)
            one = instances(entity, has, report.io_facets, parts(name, report.io_facets, places.identity))
            if not one.instances:
                return None
            found[entity] = found.get(entity, NONE) | one.instances
    if not found.keys() >= {link.upstream for link in places.held.graph.upstream(declared.name)}:
        return None
    return [WhatWasRead(entity, ranges.written(places.held.instances(entity), some)) for entity, some in found.items()]


def _facts(told: RunTold, outputs: Sequence[DatasetReport]) -> dict[str, Any]:
    """Of the version: by which code, and where one output holds it, what is in there."""
    found: dict[str, Any] = {"code": _code(told)}
    if len(outputs) == 1:
        (output,) = outputs
        told_version = decode_or_none(known.external_version, output.facets.get("version")) or ""
        item = decode_or_none(_item.decode, output.io_facets.get(ITEM))
        found["fingerprint"] = (item.fingerprint if item is not None else None) or (
            told_version if told_version.startswith(_FINGERPRINT) else None
        )
        if told_version and not told_version.startswith(_FINGERPRINT):
            found["storage"] = _stored(output, told_version)
        counts = decode_or_none(known.statistics, output.io_facets.get("outputStatistics")) or (None, None, None)
        found["rows"], found["bytes"] = counts[:2]
    return found


def _stored(output: DatasetReport, told_version: str) -> dict[str, Any]:
    """Which version of what. That a run left it, so that a plan may go back to it, is taken from our own capture alone: others name, of a write, the
    version that there was when the query was planned.
    """
    key = _VERSIONS.get(decode_or_none(known.storage_layer, output.facets.get("storage")) or "")
    told_by = decode_or_none(_told_by.decode, output.facets.get("version"))
    ours = told_by is not None and told_by.producer.startswith(_OURS)
    if key and ours and names.is_path(output.name.namespace) and _NUMBER.fullmatch(told_version):
        return {key: int(told_version), "table": names.location(output.name)}
    return {"namespace": output.name.namespace, "name": output.name.name, "version": told_version}


def _code(told: RunTold) -> str | None:
    """The commit that ran: as the job's facet tells it, else as ours does."""
    for body in (told.job_facets.get("sourceCodeLocation"), told.facets.get("headwater_code")):
        location = decode_or_none(_version.decode, body)
        if location is not None and location.version:
            return known.clean(location.version)
    return None


class _Item(msgspec.Struct):
    fingerprint: str | None = None


class _Version(msgspec.Struct):
    version: str | None = None


class _ToldBy(msgspec.Struct):
    producer: str = msgspec.field(default="", name="_producer")


_item = msgspec.json.Decoder(_Item)
_told_by = msgspec.json.Decoder(_ToldBy)
_version = msgspec.json.Decoder(_Version)


def above(told: RunTold) -> list[uuid.UUID]:
    """The runs of its parent and of its root, as it names them."""
    found = decode_or_none(known.parent, told.facets.get("parent")) or ()
    return list(dict.fromkeys(version.run_id(each.run_id)[0] for each in found if each is not None))
