"""What somebody says of instances, as it comes over the wire, and what it means. Refuses to look at what is known of them."""

import datetime as dt
import hashlib
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from headwater.entities.declaration.held import Held
from headwater.entities.status.transitions import (
    Deleted,
    Doubted,
    Failed,
    LeftWrong,
    Planned,
    Produced,
    Released,
    Report,
    Said,
    Started,
    Trusted,
    Unplanned,
    Withheld,
)
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidStatus

What = Literal[
    "started",
    "produced",
    "failed",
    "deleted",
    "said",
    "doubted",
    "trusted",
    "withheld",
    "released",
    "left_wrong",
    "planned",
    "unplanned",
]

_LONGEST = 1000
_whole = msgspec.json.Encoder(order="deterministic")
_MADE: dict[str, Any] = {
    "started": Started,
    "failed": Failed,
    "doubted": Doubted,
    "trusted": Trusted,
    "withheld": Withheld,
    "released": Released,
    "left_wrong": LeftWrong,
    "planned": Planned,
    "unplanned": Unplanned,
}


class WhatWasRead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances of an upstream entity that a version was made from."""

    entity: str
    instances: list[str]


class Reported(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One report of some instances of one entity.

    instances: `2024-03-10`, `2024-03-01..2024-03-31`; or `start` and `end`: all whose periods overlap that interval.
    ref: the run (`started`, `produced`, `failed`), the check (`doubted`, `trusted`), who (`withheld`, `released`), the incident (`left_wrong`), the
    plan, or why it was deleted (`retention`, `external`).
    states, remove: of `produced` the states of the new version; of `said` those added and taken away.
    at: when it happened. Without it now, and then the same report twice is two unless `key` says that they are one.
    seq, reads: what the new version was made from: these instances as they were known at that seq, which an answer about readiness gives.
    `reads` that is there and empty: it read nothing that is an entity. Absent: nobody knows.
    right: somebody looked, and the new version is right whatever incidents say.
    """

    entity: str
    what: What
    instances: list[str] = []
    start: dt.datetime | None = None
    end: dt.datetime | None = None
    ref: str = ""
    states: list[str] = []
    remove: list[str] = []
    at: dt.datetime | None = None
    key: str | None = None
    reason: str = ""
    seq: int | None = None
    reads: list[WhatWasRead] | None = None
    code: str | None = None
    fingerprint: str | None = None
    storage: dict[str, Any] | None = None
    rows: int | None = None
    bytes: int | None = None
    right: bool = False


class Understood(NamedTuple):
    """`reads`: (upstream's id, its name, instances); None where nobody knows."""

    entity_id: int
    name: str
    instances: Ordinals
    report: Report
    at: dt.datetime
    key: bytes
    reads: tuple[tuple[int, str, Ordinals], ...] | None
    said: Reported

    @property
    def produced(self) -> bool:
        return isinstance(self.report, Produced)


def understood(said: Reported, held: Held, now: dt.datetime) -> Understood:
    """NotFound for an entity that is not declared, InvalidPeriod and InvalidStatus for what makes no sense."""
    entity_id = held.number(said.entity)
    instances = _instances(said, held)
    reads = None
    if said.reads is not None:
        if said.what != "produced":
            raise InvalidStatus(f"reads go with produced, not with {said.what}", field="reads")
        reads = tuple(
            (held.number(read.entity), read.entity, ranges.read(held.instances(read.entity), read.instances))
            for read in said.reads
        )
    at = _utc(said.at) or now
    return Understood(entity_id, said.entity, instances, _report(said), at, _key(said, at), reads, said)


def _instances(said: Reported, held: Held) -> Ordinals:
    instances = held.instances(said.entity)
    found = ranges.read(instances, said.instances) if said.instances else NONE
    start, end = _utc(said.start), _utc(said.end)
    if (start is None) != (end is None):
        raise InvalidStatus("start and end go together: an interval, its end not included", field="start")
    if start is not None and end is not None:
        if found:
            raise InvalidStatus("write instances, or start and end, not both", field="instances")
        found = Ordinals.between(0, 1) if instances is None else instances.calendar.covering(start, end) & instances.all
    if not found:
        raise InvalidStatus(
            f"{said.what} of {said.entity!r} names no instance; write instances, or the start and end of an interval in which there are some",
            entity=said.entity,
        )
    return found


def _report(said: Reported) -> Report:
    if len(said.ref) > _LONGEST:
        raise InvalidStatus(f"ref has {len(said.ref)} characters; {_LONGEST} are the most", field="ref")
    if (said.states and said.what not in {"produced", "said"}) or (said.remove and said.what != "said"):
        raise InvalidStatus(f"{said.what} has no states; produced and said have", field="states")
    match said.what:
        case "produced":
            return Produced(said.ref or None, tuple(said.states)) if said.states else Produced(said.ref or None)
        case "said":
            if not said.states and not said.remove:
                raise InvalidStatus("said says nothing; give states to add, or remove", field="states")
            return Said(tuple(said.states), tuple(said.remove))
        case "deleted":
            return Deleted(said.ref or "external")  # type: ignore[arg-type]  # `after` refuses other causes
        case _:
            if not said.ref:
                raise InvalidStatus(f"{said.what} needs a ref: {_REFS[said.what]}", field="ref")
            made: Report = _MADE[said.what](said.ref)
            return made


def _key(said: Reported, at: dt.datetime) -> bytes:
    """What makes two reports one: what their sender says, otherwise all that they say and when it happened."""
    if said.key is not None:
        told = "\0".join(["key", said.entity, said.key]).encode("utf-8", "replace")
    else:
        told = b"\0".join([b"all", at.isoformat().encode(), _whole.encode(said)])
    return hashlib.blake2b(told, digest_size=16).digest()


def _utc(time: dt.datetime | None) -> dt.datetime | None:
    return time.replace(tzinfo=dt.UTC) if time is not None and time.tzinfo is None else time


_REFS = {
    "started": "the run",
    "failed": "the run",
    "doubted": "the check",
    "trusted": "the check",
    "withheld": "who withholds them",
    "released": "who withheld them",
    "left_wrong": "the incident",
    "planned": "the plan",
    "unplanned": "the plan",
}
assert set(get_args(What)) == {*_REFS, "produced", "said", "deleted"}
