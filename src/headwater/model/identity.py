"""Which dataset a told name means: rules people set, then what is certain about spellings, then partitions folded out of names.

Pure and idempotent: placing a placed name changes nothing. The rules are a value; when they change, `headwater rebuild` applies them to
everything in the log. What merges by evidence (symlinks) is not here: that is `dataset_links`, settled when it arrives.
"""

import datetime as dt
import fnmatch
import re
import uuid
from functools import cached_property
from typing import Literal

import msgspec

from headwater.errors import InvalidQuestion
from headwater.model import version
from headwater.model.names import DatasetName, is_path, normalised

_REMEMBERED = 50_000
_KEY_VALUE = re.compile(r"^([^/=]+)=([^/]*)$")
_DAY = re.compile(r"^(\d{4})(-?)(\d{2})\2(\d{2})$")
_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_SPLIT_DAY = re.compile(r"(?:^|/)(\d{4})/(\d{2})/(\d{2})(?:/([01]\d|2[0-3]))?$")
_SPLIT_MONTH = re.compile(r"(?:^|/)(\d{4})/(\d{2})$")
# A date at the end of a table's name or of a file's stem: `t_20190801`, `t$20190801`, `t-2019-08-01.csv`.
_DATED = re.compile(
    r"^(?P<stem>.*[^\d_.$-])[_$.-](?P<date>\d{4}(?P<dash>-?)\d{2}(?P=dash)\d{2})(?P<ending>(?:\.[A-Za-z][A-Za-z0-9]{0,9}){0,2})$",
    re.DOTALL,
)
_ENDING = re.compile(r"^[^/=]+\.[A-Za-z][A-Za-z0-9]{0,9}$")


class Rule(msgspec.Struct, frozen=True):
    """One rule about names.

    `namespace`: a namespace that begins with `match` begins with `to` instead. `name`: inside `namespace`, a name that begins with `match`
    begins with `to`. `keep`: names of `namespace` (a glob; `*` for all) that fit the glob `match` are never folded.
    """

    kind: Literal["namespace", "name", "keep"]
    match: str
    to: str = ""
    namespace: str = "*"


class Placed(msgspec.Struct, frozen=True, dict=True):
    """The dataset a name means, and which part of it: partition columns and their values, in the order of the path."""

    name: DatasetName
    part: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> uuid.UUID:
        return version.dataset_id(self.name)


class Identity:
    """The rules, ready to be asked."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self.rules = rules
        self._placed: dict[tuple[str, str], Placed] = {}

    def place(self, name: DatasetName) -> Placed:
        """Where a told name belongs."""
        key = (name.namespace, name.name)
        found = self._placed.get(key)
        if found is None:
            if len(self._placed) >= _REMEMBERED:
                self._placed.clear()
            found = self._placed[key] = self._place(normalised(name.namespace, name.name))
        return found

    def _place(self, name: DatasetName) -> Placed:
        namespace, text = name.namespace, name.name
        for rule in self.rules:
            if rule.kind == "namespace" and namespace.startswith(rule.match):
                namespace = rule.to + namespace[len(rule.match) :]
            elif rule.kind == "name" and fnmatch.fnmatchcase(namespace, rule.namespace) and text.startswith(rule.match):
                text = rule.to + text[len(rule.match) :]
        settled = normalised(namespace, text)
        for rule in self.rules:
            if (
                rule.kind == "keep"
                and fnmatch.fnmatchcase(settled.namespace, rule.namespace)
                and fnmatch.fnmatchcase(settled.name, rule.match)
            ):
                return Placed(settled)
        return folded(settled)


def checked(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules, if they make sense together. Raises InvalidQuestion naming the one that does not."""
    for place, rule in enumerate(rules):
        if not rule.match:
            raise InvalidQuestion(f"rule {place}: match must not be empty", rule=place)
        if rule.kind != "keep" and rule.to.startswith(rule.match) and rule.to != rule.match:
            raise InvalidQuestion(
                f"rule {place}: {rule.to!r} begins with {rule.match!r}, so the rule would apply to its own result",
                rule=place,
            )
    return rules


def folded(name: DatasetName) -> Placed:
    """The name without the partition at its end, and that partition.

    Paths: `k=v` segments and dates (`2019-08-01`, `20190801`, `2019/08/01`, `2019-08`, `2019/08`) at the end, with at most one file below
    them; a date at the end of a file's stem. Tables: `t_20190801`, `t$20190801`. A name that is nothing but partitions stays whole.
    """
    if is_path(name.namespace) or name.name.startswith("/"):
        return _folded_path(name)
    match = _DATED.match(name.name)
    if match and not match["ending"] and not match["dash"] and (day := _day(match["date"])):
        return Placed(DatasetName(name.namespace, match["stem"]), (("date", day),))
    return Placed(name)


def _folded_path(name: DatasetName) -> Placed:
    segments = name.name.split("/")
    file = segments[-1] if len(segments) > 1 and _ENDING.match(segments[-1]) else None
    end = len(segments) - (1 if file else 0)
    keys = [index for index, segment in enumerate(segments) if _KEY_VALUE.match(segment)]
    if keys and any(segments[: keys[0]]):
        # Hive's partitions: everything from the first `k=v` on, whatever stands below it.
        part = tuple((m[1], m[2]) for segment in segments[keys[0] :] if (m := _KEY_VALUE.match(segment)))
        return Placed(DatasetName(name.namespace, "/".join(segments[: keys[0]])), part)
    taken, part = _dates_at_end(segments[:end])
    if taken and any(segments[: end - taken]):
        return Placed(DatasetName(name.namespace, "/".join(segments[: end - taken])), part)
    if file and (match := _DATED.match(file)) and match["ending"] and (day := _day(match["date"])):
        return Placed(
            DatasetName(name.namespace, "/".join([*segments[:-1], match["stem"] + match["ending"]])), (("date", day),)
        )
    return Placed(name)


def _dates_at_end(segments: list[str]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many segments at the end are a date, and the date."""
    last = segments[-1] if segments else ""
    if day := _day(last):
        return 1, (("date", day),)
    if (month := _MONTH.match(last)) and _valid(month[1], month[2], "01"):
        return 1, (("month", last),)
    text = "/".join(segments[-4:])
    if (match := _SPLIT_DAY.search(text)) and _valid(match[1], match[2], match[3]):
        date = ("date", f"{match[1]}-{match[2]}-{match[3]}")
        return (4, (date, ("hour", match[4]))) if match[4] else (3, (date,))
    if (match := _SPLIT_MONTH.search(text)) and _valid(match[1], match[2], "01"):
        return 2, (("month", f"{match[1]}-{match[2]}"),)
    return 0, ()


def _day(text: str) -> str | None:
    match = _DAY.match(text)
    return f"{match[1]}-{match[3]}-{match[4]}" if match and _valid(match[1], match[3], match[4]) else None


def _valid(year: str, month: str, day: str) -> bool:
    """Whether it is a date of the years that data is of: 8 digits may well be something else."""
    try:
        return 1970 <= dt.date(int(year), int(month), int(day)).year <= 2100
    except ValueError:
        return False
