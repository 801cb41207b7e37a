"""Service levels as people declare them beside rules, for datasets, a tag or a product, whether or not a rule tells of a miss:

slas:
  - name: the funnel is there by eight
    of: product:funnel
    by: 08:00 Europe/Berlin mon-fri
    goal: 99%
"""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from headwater.entities.alerts.selectors import Selector, read_selector
from headwater.entities.alerts.times import Deadline, read_deadline
from headwater.entities.declaration.document import Part
from headwater.entities.declaration.fields import Fields

_WORDS: Final = ("name", "of", "except", "by", "within", "goal")
_OTHERS: Final = {"target": "goal", "objective": "goal", "deadline": "by", "select": "of"}
_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?%")


class Sla(msgspec.Struct, frozen=True):
    """A promise about datasets.

    `of`: any of these selects, `but`: none of these. `by`, or `within` so many seconds of the last update: one of them is set.
    `goal`: the share that must be met in a week, over 0 to 1; None: none was declared.
    """

    name: str
    file: str
    line: int
    of: tuple[Selector, ...] = ()
    but: tuple[Selector, ...] = ()
    by: Deadline | None = None
    within: int | None = None
    goal: float | None = None


def read_sla(part: Part, fields: Fields) -> Sla | None:
    """Read one; each mistake is noted."""
    fields.who = ""
    told = fields.mapping(part, "an SLA", _WORDS, _OTHERS)
    if not told:
        return None
    name = fields.text(told.get("name"), "name")
    if not name:
        fields.note(part.place, "an SLA has no name; give it one, by which reports list it")
    fields.who = f"SLA {name!r}"
    if ("by" in told) == ("within" in told):
        fields.note(part.place, "write either `by: 07:00 Europe/Berlin` or `within: 2h`")
    of = read_selectors(told.get("of"), "of", fields)
    if "of" not in told:
        fields.note(part.place, "covers nothing; write `of:` with such as tag:tier:gold, product:funnel or a dataset")
    return Sla(
        name, part.place.file, part.place.line, of, read_selectors(told.get("except"), "except", fields),
        read_deadline(told.get("by"), fields), fields.seconds(told.get("within"), "within"), _goal(told.get("goal"), fields),
    )  # fmt: skip


def read_selectors(part: Part | None, what: str, fields: Fields) -> tuple[Selector, ...]:
    """Read selectors, one or several; each mistake is noted: a selection with nothing in it is not one of everything."""
    found = []
    items = fields.items(part)
    if part is not None and not items:
        fields.note(part.place, f"{what} selects nothing; leave it out, or write such as tag:tier:gold")
    for each in items:
        if each.value is None:
            fields.note(each.place, f"{what} has an item with nothing in it; remove it, or write such as tag:tier:gold")
        text = fields.text(each, what)
        if text and (one := read_selector(text, each.place, what, fields)) is not None:
            found.append(one)
    return tuple(found)


def find_sla(slas: Sequence[Sla], name: str) -> Sla | None:
    """Return the SLA of this name."""
    return next((one for one in slas if one.name == name), None)


class Promise(Protocol):
    """A rule or an SLA that declares a deadline."""

    @property
    def by(self) -> Deadline | None: ...

    @property
    def within(self) -> int | None: ...


def describe_deadline(promise: Promise) -> str:
    """Return `07:00 Europe/Berlin mon,tue`, or `within 2:00:00`."""
    return str(promise.by) if promise.by is not None else f"within {dt.timedelta(seconds=promise.within or 0)}"


def _goal(part: Part | None, fields: Fields) -> float | None:
    if part is None:
        return None
    match = _PERCENT.fullmatch(fields.text(part, "goal"))
    goal = float(match[1]) / 100 if match else 0.0
    if not 0.0 < goal <= 1.0:
        fields.note(part.place, f"goal is {part.value!r}; write a share of what is due, such as 99.5%")
        return None
    return goal
