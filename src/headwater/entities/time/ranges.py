"""Sets of instances as people and programs write them, and back.

| text | instances |
|---|---|
| `2024-03-10`, `2024-W10`, `2024-03-10T05` | the one with that key |
| `2024-03-01..2024-03-31` | from the first to the last, both included; either side may be missing: `2024-03-01..` |
| `2024-03` of days, `2024-03-10` of hours | all that overlap that day, week, month, quarter or year of the entity's zone, in a range too |
| `static` | the one there is of a static entity |
| `*` | all there may ever be |
"""

from collections.abc import Iterable

from headwater.entities.time import keys
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPeriod

STATIC = "static"
_UNITS = ("day", "week", "month", "quarter", "year")


def read(instances: Instances | None, texts: Iterable[str]) -> Ordinals:
    """The instances that any of these texts names. `instances` is None for a static entity.

    InvalidPeriod if a text names none that the entity may ever have, with how one is written. An end beyond what the entity has is cut.
    """
    found = [_parse_part(instances, text.strip()) for text in texts]
    return NONE.union(*found)


def read_periods(calendar: Calendar, text: str) -> Ordinals:
    """The periods of a calendar that one key names, within an entity or not. Raises InvalidPeriod as `read` does."""
    return _named(calendar, text.strip())


def written(instances: Instances | None, ordinals: Ordinals) -> list[str]:
    """A text for each run: a key, or two of them: `2024-03-01..2024-03-31`. `read` reads them back."""
    return periods(instances.calendar if instances is not None else None, ordinals)


def periods(calendar: Calendar | None, ordinals: Ordinals) -> list[str]:
    """The same of any periods of a calendar; None for what has none."""
    if calendar is None:
        return [STATIC] if ordinals else []
    return [
        keys.key(calendar, start) if end - start == 1 else f"{keys.key(calendar, start)}..{keys.key(calendar, end - 1)}"
        for start, end in ordinals
    ]


def _parse_part(instances: Instances | None, text: str) -> Ordinals:
    if instances is None:
        if text not in {STATIC, "*"}:
            raise InvalidPeriod(f"{text!r}: the entity is static and has no periods; write {STATIC}", key=text)
        return Ordinals.between(0, 1)
    if text == "*":
        return instances.all
    # A key may have two dots in no place, so that the first two part a range.
    low, dots, high = text.partition("..")
    every = instances.all
    start = _named(instances.calendar, low).first if low else every.first
    end = (_named(instances.calendar, high).end if high else every.end) if dots else _named(instances.calendar, low).end
    if start >= end:
        raise InvalidPeriod(f"{text!r} ends before it begins", key=text)
    found = Ordinals.between(start, end) & every
    if not found:
        first, last = (keys.key(instances.calendar, each) for each in (every.first, every.end - 1))
        raise InvalidPeriod(f"{text!r} is outside what the entity has, which is {first} to {last}", key=text)
    return found


def _named(calendar: Calendar, text: str) -> Ordinals:
    """The periods that a key names: its own, or those that overlap a longer one."""
    try:
        one = keys.ordinal(calendar, text)
    except InvalidPeriod as wrong:
        for unit in _UNITS:
            longer = calendar.unit(unit)
            try:
                place = keys.ordinal(longer, text)
            except InvalidPeriod:
                continue
            return longer.cover(Ordinals.between(place, place + 1), calendar)
        raise wrong from None
    return Ordinals.between(one, one + 1)
