"""Reports about instances as they arrive, and how they are resolved against the declarations. The current marks play no part here."""

import datetime as dt
import hashlib
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.transitions import (
    Deleted,
    Doubted,
    Failed,
    LeftWrong,
    Planned,
    Produced,
    Released,
    Report,
    Started,
    StatesChanged,
    Trusted,
    Unplanned,
    Withheld,
)
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidStatus
from headwater.model.moments import aware

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
_BY_REF: dict[str, Any] = {
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


class ReadInstances(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances of an upstream entity that a version read."""

    entity: str
    instances: list[str]


class Reported(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One report about some instances of one entity.

    instances: such as `2024-03-10` or `2024-03-01..2024-03-31`; or `start` and `end`: every instance whose period overlaps that interval.
    ref: the run (`started`, `produced`, `failed`), the check (`doubted`, `trusted`), the person or system (`withheld`, `released`), the incident
    (`left_wrong`), the plan, or the cause of deletion (`retention`, `external`).
    states, remove: with `produced`, the states of the new version; with `said`, the states to add and to remove.
    at: when it happened; default now. Without `at`, two equal reports count as two unless they have the same `key`.
    reads: the instances that the new version read, as of `seq`, which an answer about readiness contains. Empty: it read no entity. Absent:
    unknown.
    right: a person checked the new version; it is right even if an incident reaches it.
    future: with `produced`, instances that have not begun are meant, as those of a forecast.
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
    reads: list[ReadInstances] | None = None
    code: str | None = None
    fingerprint: str | None = None
    storage: dict[str, Any] | None = None
    rows: int | None = None
    bytes: int | None = None
    right: bool = False
    future: bool = False


# A clock may be ahead of the server's by this much. A report from further in the future would outlast every honest one until
# then.
AHEAD = dt.timedelta(minutes=5)


class ResolvedReport(NamedTuple):
    """A report with its entity and instances resolved. `reads`: (upstream's id, its name, instances); None if unknown.

    `at`: when it happened; not the reported time (`corrected`) if the sender's clock is off, or if that is too far in the future: then the time of
    arrival.
    """

    entity_id: int
    name: str
    instances: Ordinals
    report: Report
    at: dt.datetime
    key: bytes
    reads: tuple[tuple[int, str, Ordinals], ...] | None
    reported: Reported
    corrected: bool = False

    @property
    def produced(self) -> bool:
        return isinstance(self.report, Produced)


def resolve_report(
    reported: Reported,
    held: StoredDeclarations,
    now: dt.datetime,
    ahead: dt.timedelta = AHEAD,
    offset: dt.timedelta = dt.timedelta(),
) -> ResolvedReport:
    """Resolve a report. `ahead`: how far in the future its time may be; `offset`: what to add to it, since the sender's clock is off.

    Raises NotFound for an entity that is not declared, InvalidPeriod and InvalidStatus for an invalid report.
    """
    entity_id = held.number(reported.entity)
    instances = _instances(reported, held)
    if reported.what == "produced" and not reported.future:
        _check_begun(reported.entity, instances, held, now)
    reads = None
    if reported.reads is not None:
        if reported.what != "produced":
            raise InvalidStatus(f"reads belong to produced, not to {reported.what}; remove them", field="reads")
        reads = tuple(
            (held.number(read.entity), read.entity, ranges.read(held.instances(read.entity), read.instances))
            for read in reported.reads
        )
    at = aware(reported.at) or now
    happened_at = _corrected(at, offset, now) if offset and reported.at is not None else at
    if happened_at - now > ahead:
        happened_at = now
    # The key is of the time as it was reported: sent again, it is the same report.
    return ResolvedReport(
        entity_id,
        reported.entity,
        instances,
        _report(reported),
        happened_at,
        _key(reported, at),
        reads,
        reported,
        happened_at != at,
    )


def _corrected(at: dt.datetime, offset: dt.timedelta, now: dt.datetime) -> dt.datetime:
    """Return the time by the server's clock: what is reported at once happened now, so such reports stay in the order in which they came."""
    try:
        return min(at + offset, now)
    except OverflowError:  # a time of year 1 or 9999: no clock shows it
        return at


def _check_begun(name: str, instances: Ordinals, held: StoredDeclarations, now: dt.datetime) -> None:
    """Raise InvalidStatus if one of the instances has not begun: `*` and a mistyped year reach a century ahead."""
    declared = held.instances(name)
    if declared is not None and (later := instances - declared.begun(now)):
        first = ranges.written(declared, Ordinals.between(later.first, later.first + 1))[0]
        raise InvalidStatus(
            f"{first} of {name!r} has not begun, nor have {later.count - 1:,} later ones: report the instances that were made, "
            "or say `future` (`headwater report --future`) if they are meant",
            entity=name,
            first=first,
        )


def _instances(reported: Reported, held: StoredDeclarations) -> Ordinals:
    instances = held.instances(reported.entity)
    found = ranges.read(instances, reported.instances) if reported.instances else NONE
    start, end = aware(reported.start), aware(reported.end)
    if (start is None) != (end is None):
        raise InvalidStatus("start and end belong together: give both, or neither", field="start")
    if start is not None and end is not None:
        if found:
            raise InvalidStatus("give instances, or start and end, not both", field="instances")
        found = Ordinals.between(0, 1) if instances is None else instances.calendar.covering(start, end) & instances.all
    if not found:
        raise InvalidStatus(
            f"{reported.what} of {reported.entity!r} names no instance; give instances, or the start and end of an interval that overlaps some",
            entity=reported.entity,
        )
    return found


def _report(reported: Reported) -> Report:
    for field in ("rows", "bytes"):
        count = getattr(reported, field)
        if count is not None and not 0 <= count < 2**63:
            raise InvalidStatus(f"{field} is {count}; give a count from 0 to 2^63 - 1, or leave it out", field=field)
    if len(reported.ref) > _LONGEST:
        raise InvalidStatus(f"ref has {len(reported.ref)} characters; shorten it to at most {_LONGEST}", field="ref")
    if (reported.states and reported.what not in {"produced", "said"}) or (reported.remove and reported.what != "said"):
        raise InvalidStatus(f"{reported.what} has no states; use produced or said to change states", field="states")
    match reported.what:
        case "produced":
            return (
                Produced(reported.ref or None, tuple(reported.states))
                if reported.states
                else Produced(reported.ref or None)
            )
        case "said":
            if not reported.states and not reported.remove:
                raise InvalidStatus("said changes no state; give states to add or to remove", field="states")
            return StatesChanged(tuple(reported.states), tuple(reported.remove))
        case "deleted":
            return Deleted(reported.ref or "external")  # type: ignore[arg-type]  # `after` refuses other causes
        case _:
            if not reported.ref:
                raise InvalidStatus(f"{reported.what} needs a ref: {_REFS[reported.what]}", field="ref")
            report: Report = _BY_REF[reported.what](reported.ref)
            return report


def _key(reported: Reported, at: dt.datetime) -> bytes:
    """The key that makes two reports duplicates: from the sender's key, otherwise from the whole report and its time."""
    if reported.key is not None:
        content = "\0".join(["key", reported.entity, reported.key]).encode("utf-8", "replace")
    else:
        content = b"\0".join([b"all", at.isoformat().encode(), _whole.encode(reported)])
    return hashlib.blake2b(content, digest_size=16).digest()


_REFS = {
    "started": "the run",
    "failed": "the run",
    "doubted": "the check",
    "trusted": "the check",
    "withheld": "the person or system that withholds them",
    "released": "the person or system that withheld them",
    "left_wrong": "the incident",
    "planned": "the plan",
    "unplanned": "the plan",
}
assert set(get_args(What)) == {*_REFS, "produced", "said", "deleted"}
