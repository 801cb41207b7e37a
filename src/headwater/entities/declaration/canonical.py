"""A declaration as JSON: what is stored, and what two declarations are compared by. What means the same is written the same.

States are a list, for the order of an object's keys is not kept by every reader. What has its default is left out. Every such document is a
declaration as people write it, too, and is read by the same reader.
"""

from collections.abc import Mapping

from headwater.entities.declaration.document import Problem, of_json
from headwater.entities.declaration.entity import EntityDeclaration
from headwater.entities.declaration.reading import entity, refused
from headwater.entities.needs.graph import COMPLETED, Dependency
from headwater.entities.needs.kinds import Cumulative, Sliding, Snapshot, Static
from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.civil import WEEKDAYS
from headwater.entities.time.custom import DIRECTIONS, Custom
from headwater.entities.time.durations import Length
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals
from headwater.entities.time.zones import moment
from headwater.errors import InvalidEntities

Json = dict[str, object]


def document(declared: EntityDeclaration) -> Json:
    """The document of one entity; equal for declarations of equal meaning, regardless of their place."""
    entity_ = declared.entity
    found: Json = {"entity": entity_.name, **_kind(declared)}
    if entity_.instances is not None:
        found["period"] = _period(entity_.instances)
    found["states"] = [
        {"state": state, "depends_on": _needs(needs)} if needs else {"state": state}
        for state, needs in entity_.states.items()
    ]
    kept = {
        "description": declared.description,
        "owners": list(declared.owners),
        "tags": {name: list(declared.tags[name]) for name in sorted(declared.tags)},
        "tier": declared.tier,
        "produced_by": [
            {word: value for word, value in producer._asdict().items() if value} for producer in declared.produced_by
        ],
        "stored_in": [stored._asdict() for stored in declared.stored_in],
        "compatible": [list(group) for group in declared.compatible],
        "due": declared.due is not None and _seconds(declared.due),
        "retention": declared.retention is not None and _length(declared.retention),
        "frozen": entity_.instances is not None and _frozen(entity_.instances.calendar, declared.frozen),
        "transparent": declared.transparent,
        "renamed_from": declared.renamed_from,
    }
    return {**found, **{word: value for word, value in kept.items() if value}}


def from_document(said: Mapping[str, object]) -> EntityDeclaration:
    """The declaration that a document says; its parts have no places. InvalidEntities if it is none."""
    problems: list[Problem] = []
    try:
        found = entity(of_json(said), problems)
    except ValueError as wrong:
        raise InvalidEntities(f"this is no declaration of an entity: {wrong}", problems=[str(wrong)]) from wrong
    if problems or found is None:
        raise refused(problems)
    return found._replace(places={})


def _kind(declared: EntityDeclaration) -> Json:
    kind, instances = declared.entity.kind, declared.entity.instances
    match kind:
        case Sliding():
            return {"kind": "sliding", "window": kind.window}
        case Snapshot():
            since = declared.repair
            if isinstance(since, int) and instances is not None:
                return {"kind": "snapshot", "mode": kind.mode, "repair": f"since {keys.key(instances.calendar, since)}"}
            return {"kind": "snapshot", "mode": kind.mode, "repair": since}
        case Static():
            return {"kind": "static"}
        case Cumulative():
            corrections: Json = {"corrections": kind.corrections} if kind.corrections else {}
            return {"kind": "cumulative", "mode": kind.mode, "process": _period(kind.process), **corrections}
        case _:
            return {"kind": "timeseries"}


def _period(instances: Instances) -> Json:
    calendar, spec = instances.calendar, instances.calendar.spec
    found: Json = {"tz": spec.zone}
    if spec.unit:
        found["every"] = calendar.every_text
    elif spec.cron:
        found["cron"] = spec.cron
    else:
        found["table"] = [_instant(bound) for bound in spec.table]
    if spec.week_start:
        found["starts"] = WEEKDAYS[spec.week_start]
    if spec.offset:
        found["offset"] = _seconds(spec.offset)
    if spec.anchor is not None:
        found["anchor"] = str(spec.anchor)
    for word, ordinal in (("from", instances.first), ("until", instances.end)):
        if ordinal is not None:
            found[word] = _bound(calendar, ordinal)
    return found


def _bound(calendar: Calendar, ordinal: int) -> str:
    """A date where that says it, otherwise the instant."""
    start = int(calendar.begins([ordinal])[0])
    nominal = calendar.nominal(ordinal)
    if calendar.civil is not None and nominal is not None:
        date = calendar.civil.date(nominal)
        if calendar.midnight(date) == start:
            return str(date)
    return _instant(start)


def _needs(needs: tuple[Dependency, ...]) -> list[Json]:
    """Return the needs as JSON. Those of a group stay together, in the order of the groups' names."""
    found: list[Json] = [{each.upstream: _dependency(each)} for each in needs if not each.group]
    groups = sorted({each.group for each in needs if each.group}, key=lambda group: (len(group), group))
    for group in groups:
        found.append({"any_of": [{each.upstream: _dependency(each)} for each in needs if each.group == group]})
    return found


def _dependency(needed: Dependency) -> Json:
    said: Json = {}
    if needed.dates is not None:
        meaning = needed.dates.meaning
        said["dates"] = needed.dates.text
        if meaning.strict:
            said["strict"] = "within"
        if meaning.newest and meaning.end is None:
            said["as_of"] = "now"
        if needed.dates.ignore_before_start:
            said["before_start"] = "ignore"
        if meaning.custom is not None:
            said["custom"] = _custom(meaning.custom)
    if needed.states != (COMPLETED,):
        said["states"] = list(needed.states)
    if needed.accept_tainted:
        said["accept_tainted"] = True
    if needed.optional:
        said["optional"] = True
    if needed.minimum is not None:
        number, share, lacking = needed.minimum
        said["min"] = f"{share * 100:.8g}%" if share is not None else str(number or -(lacking or 0))
    if needed.wait is not None:
        said["wait"] = _seconds(needed.wait)
        if needed.then != "fail":
            said["then"] = needed.then
    if needed.columns:
        said["columns"] = list(needed.columns)
    return said


def _custom(custom: Custom) -> Json:
    tables = {direction: custom.rows(direction) for direction in DIRECTIONS}
    return {direction: {key: list(named) for key, named in rows} for direction, rows in tables.items() if rows}


def _seconds(seconds: int) -> str:
    return f"{seconds // 60}m" if seconds % 3600 else f"{seconds // 3600}h"


def _length(length: Length) -> str:
    parts = ((length.months, "mo"), (length.days, "d"), (length.seconds // 60, "m"))
    return " ".join(f"{count}{unit}" for count, unit in parts if count)


def _frozen(calendar: Calendar, frozen: Ordinals) -> list[str]:
    found = []
    for start, end in zip(frozen.starts.tolist(), frozen.ends.tolist(), strict=True):
        first = keys.key(calendar, start) if start > calendar.first else ""
        found.append(f"{first}..{keys.key(calendar, end) if end < calendar.end else ''}")
    return found


def _instant(instant: int) -> str:
    return moment(instant).isoformat().replace("+00:00", "Z")
