"""The kind of an entity and its periods, and what goes with one kind only: a window, a mode, corrections."""

from typing import NamedTuple

from headwater.entities.declaration.document import Part, Place
from headwater.entities.declaration.fields import Fields
from headwater.entities.needs.graph import Kind
from headwater.entities.needs.kinds import Cumulative, Sliding, Snapshot, Static, TimeSeries
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.errors import HeadwaterError, InvalidDates

KINDS = ("timeseries", "sliding", "snapshot", "static", "cumulative")
OF_KIND = {
    "window": ("sliding",),
    "mode": ("snapshot", "cumulative"),
    "repair": ("snapshot",),
    "process": ("cumulative",),
    "corrections": ("cumulative",),
}
"""Words that go with some kinds only."""
PERIOD = ("every", "cron", "table", "tz", "starts", "offset", "anchor", "from", "until")


class Cut(NamedTuple):
    """The way an entity is cut by time. `instances` is None for a static one, and if the period is wrong."""

    kind: Kind
    instances: Instances | None


def cut(fields: Fields, said: dict[str, Part], place: Place) -> Cut:
    """The kind of an entity. An invalid field is noted and replaced by a similar valid one."""
    name = fields.choice(said.get("kind"), "kind", KINDS)
    for word, kinds in OF_KIND.items():
        if word in said and name not in kinds:
            fields.note(said[word].place, f"{word} goes with kind: {' or '.join(kinds)}, not with {name}")
    period = _period_part(fields, said, place, name)
    instances = _instances(fields, period, "period") if period is not None else None
    match name:
        case "sliding":
            return Cut(Sliding(_window(fields, said.get("window"), place)), instances)
        case "snapshot":
            carry = fields.choice(said.get("mode"), "mode", ("rebuild", "carry")) == "carry"
            return Cut(Snapshot("carry" if carry else "rebuild"), instances)
        case "static":
            return Cut(Static(), None)
        case "cumulative":
            adds = fields.choice(said.get("mode"), "mode", ("rebuild", "incremental")) == "incremental"
            corrections = fields.number(said.get("corrections"), "corrections", 0) or 0
            process = _process(fields, said.get("process"), period, place)
            if process is None:
                return Cut(TimeSeries(), instances)
            return Cut(Cumulative(process, "incremental" if adds else "rebuild", corrections), instances)
        case _:
            return Cut(TimeSeries(), instances)


def _period_part(fields: Fields, said: dict[str, Part], place: Place, kind: str) -> Part | None:
    """The declared period, under either name. `granularity` is the former name."""
    period, granularity = said.get("period"), said.get("granularity")
    if period is not None and granularity is not None:
        fields.note(granularity.place, "granularity is the old word for period; leave one of them out")
    found = period or granularity
    if kind == "static":
        if found is not None:
            fields.note(found.place, "a static entity has no period; leave it out, or choose another kind")
        return None
    if found is None:
        fields.note(place, "there is no period; write such as `period: day`, or `kind: static` where it has none")
    return found


def _instances(fields: Fields, part: Part, what: str, beside: dict[str, object] | None = None) -> Instances | None:
    """`beside`: words taken from elsewhere if they are absent here."""
    keys = {**part.keys}
    if isinstance(part.value, str):
        period: dict[str, object] = {"every": part.value}
        keys["every"] = part.place
    else:
        wrong = len(fields.problems)
        period = {}
        for word, each in fields.mapping(part, what, PERIOD).items():
            if word == "table":
                period[word] = [fields.text(bound, f"{what}, table") for bound in fields.items(each)]
            else:
                period[word] = fields.text(each, f"{what}, {word}")
        keys = {word: each.place for word, each in part.value.items()} if isinstance(part.value, dict) else {}
        if len(fields.problems) > wrong:
            return None
    try:
        return Instances.of({**(beside or {}), **period})
    except HeadwaterError as error:
        words = [str(error.detail.get("field")), *error.detail]
        at = next((keys[word] for word in words if word in keys), part.place)
        fields.note(at, f"{what}: {error.message}")
        for word in sorted(_ALONE & period.keys() & keys.keys()):
            if keys[word] != at:
                _note_alone(fields, keys[word], what, word, period[word])
        return None


_ALONE = {"tz", "starts", "from", "until"}
"""Words that are right or wrong whatever the period is: one mistake does not hide another."""


def _note_alone(fields: Fields, place: Place, what: str, word: str, value: object) -> None:
    try:
        Instances.of({"every": "day", word: value})
    except HeadwaterError as error:
        fields.note(place, f"{what}: {error.message}")


def _process(fields: Fields, part: Part | None, period: Part | None, place: Place) -> Instances | None:
    """Read when a cumulative entity is processed. A word alone, `day`, is in the zone and the weeks of its period; a
    mapping states everything itself."""
    if part is None:
        fields.note(place, "kind: cumulative needs process, when it is made again: `process: day`")
        return None
    beside: dict[str, object] = {}
    if isinstance(part.value, str) and period is not None and isinstance(period.value, dict):
        beside = {
            word: each.value
            for word, each in period.value.items()
            if word in {"tz", "starts"} and isinstance(each.value, str)
        }
    return _instances(fields, part, "process", beside)


def _window(fields: Fields, part: Part | None, place: Place) -> str:
    window = " ".join(fields.text(part, "window").lower().split())
    if not window:
        if part is None:
            fields.note(place, "kind: sliding needs a window: `window: 30 days`")
        return "1 day"
    try:
        Dates.of(f"last {window}")
    except InvalidDates as wrong:
        fields.note(part.place if part else place, f"window {window!r} is no length: {wrong.message}")
        return "1 day"
    return window
