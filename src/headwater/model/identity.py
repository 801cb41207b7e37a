"""Place reported dataset names: normalise the spelling, apply the configured rules, and fold partitions out of the name.

Pure and idempotent: placing a placed name changes nothing. When the rules change, `headwater server rebuild` applies them to the whole log. Names
that symlinks merge are not handled here; `dataset_links` stores them as they arrive.
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
from headwater.model.names import SCHEME_ALIASES, DatasetName, is_path, normalised

_CACHED = 50_000
# Rules and folds apply until nothing changes. A name that still changes after this many rounds stays as reported.
_ROUNDS = 64
_KEY_VALUE = re.compile(r"([^/=]+)=([^/]*)", re.DOTALL)
_DAY = re.compile(r"(\d{4})(-?)(\d{2})\2(\d{2})", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_HOUR = re.compile(r"[01]\d|2[0-3]", re.ASCII)
_SPLIT_DAY = re.compile(r"(?:^|/)(\d{4})/(\d{2})/(\d{2})\Z", re.ASCII)
_SPLIT_MONTH = re.compile(r"(?:^|/)(\d{4})/(\d{2})\Z", re.ASCII)
# A date at the end of a table's name or of a file's stem: `t_20190801`, `t$20190801`, `t-2019-08-01.csv`.
_DATED = re.compile(
    r"(?P<stem>.*[^_.$-])(?P<mark>[_$.-])(?P<date>\d{4}(?P<dash>-?)\d{2}(?P=dash)\d{2})(?P<ending>(?:\.[A-Za-z][A-Za-z0-9]{0,9}){0,2})",
    re.DOTALL | re.ASCII,
)
# A stem that itself ends in a date: the name is a span of time, and its end is no partition.
_SPAN = re.compile(r"(?:^|[_$.\-/])\d{4}(-?)\d{2}\1\d{2}\Z", re.ASCII)
_ENDING = re.compile(r"[^/=]+\.[A-Za-z][A-Za-z0-9]{0,9}", re.DOTALL)
# Files that are pieces of the dataset in their folder: `part-00000-….snappy.parquet`, `000000_0.orc`, `data_0.parquet`, a UUID.
_PIECE = re.compile(
    r"(?:part[-_.].*|(?:(?:part|data|file|chunk|batch|block|segment|split)[-_.]?)?[0-9a-fA-F_.-]*\d[0-9a-fA-F_.-]*(?:-of-\d+)?)(?:\.[A-Za-z][A-Za-z0-9]{0,9})+",
    re.DOTALL | re.ASCII,
)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One identity rule, by its kind.

    `namespace`: replace the prefix `match` of a namespace by `to`. `name`: replace the prefix `match` of a name by `to`, in `namespace`.
    `keep`: never fold names of `namespace` that match the glob `match`. `namespace` is a glob; `*` for all.
    """

    kind: Literal["namespace", "name", "keep"]
    match: str
    to: str = ""
    namespace: str = "*"


class Placed(msgspec.Struct, frozen=True, dict=True):
    """The dataset that a name refers to, and the part of it: partition columns and their values, in the order of the path."""

    name: DatasetName
    part: tuple[tuple[str, str], ...] = ()

    @cached_property
    def id(self) -> uuid.UUID:
        return version.dataset_id(self.name)


class Step(msgspec.Struct, frozen=True):
    """One step of placing a name, and the name after it. `by`: `spelling`, `rule`, `keep` (folding is forbidden) or `fold`.

    `rule`: the index of the rule in the list, from 0.
    """

    by: Literal["spelling", "rule", "keep", "fold"]
    name: DatasetName
    rule: int | None = None
    part: tuple[tuple[str, str], ...] = ()


class Identity:
    """Places names under a list of rules, and caches the answers."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self.rules = rules
        self._placed: dict[tuple[str, str], Placed] = {}

    def place(self, name: DatasetName) -> Placed:
        """The dataset and part that a reported name refers to."""
        key = (name.namespace, name.name)
        placed = self._placed.get(key)
        if placed is None:
            if len(self._placed) >= _CACHED:
                self._placed.clear()
            placed = self._placed[key] = self.explain(name)[0]
        return placed

    def explain(self, name: DatasetName) -> tuple[Placed, list[Step]]:
        """The dataset and part that a reported name refers to, and the steps that led there: none for a name that is placed already.

        A name on which the rules go in a circle is only normalised.
        """
        steps: list[Step] = []
        spelled = now = normalised(name.namespace, name.name)
        if spelled != name:
            steps.append(Step("spelling", spelled))
        part: tuple[tuple[str, str], ...] = ()
        for _ in range(_ROUNDS):
            before = now
            for place, rule in enumerate(self.rules):
                if (moved := _applied(rule, now)) != now:
                    now = moved
                    steps.append(Step("rule", now, place))
            if now == before:
                keep = self._keep_rule(now)
                fold = Placed(now) if keep is not None else folded(now)
                if fold.name == now:
                    if keep is not None:
                        steps.append(Step("keep", now, keep))
                    return Placed(now, part), steps
                now = normalised(fold.name.namespace, fold.name.name)
                # This part was further left in the name than the parts folded before.
                part = _joined(fold.part, part)
                steps.append(Step("fold", now, None, fold.part))
        return Placed(spelled), [step for step in steps if step.by == "spelling"]

    def _keep_rule(self, name: DatasetName) -> int | None:
        """The index of the first `keep` rule that matches the name."""
        for place, rule in enumerate(self.rules):
            if (
                rule.kind == "keep"
                and fnmatch.fnmatchcase(name.namespace, rule.namespace)
                and fnmatch.fnmatchcase(name.name, rule.match)
            ):
                return place
        return None


def _applied(rule: Rule, name: DatasetName) -> DatasetName:
    """Apply one rule to a name, and normalise the result. A rule that would leave an empty name does not apply."""
    namespace, text = name.namespace, name.name
    if rule.kind == "namespace" and namespace.startswith(rule.match):
        namespace = rule.to + namespace[len(rule.match) :]
    elif rule.kind == "name" and fnmatch.fnmatchcase(namespace, rule.namespace) and text.startswith(rule.match):
        text = rule.to + text[len(rule.match) :]
    return normalised(namespace, text) if namespace and text else name


def _joined(left: tuple[tuple[str, str], ...], right: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Join two parts. If both have a key with different values, the left key gets a number."""
    if not right:
        return left
    taken, renamed = dict(right), []
    for key, value in left:
        name, number = key, 2
        while name in taken and taken[name] != value:
            name, number = f"{key}_{number}", number + 1
        if name not in taken:
            taken[name] = value
            renamed.append((name, value))
    return (*renamed, *right)


def checked(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules as they are stored: schemes are spelled as in names (`s3a://` as `s3://`).

    Raises InvalidQuestion for a rule that matches everything, applies to its own result, or goes in a circle with others.
    """
    spelled = tuple(_spelled(rule) for rule in rules)
    for place, rule in enumerate(spelled):
        if not rule.match:
            raise InvalidQuestion(f"rule {place}: match must not be empty", rule=place)
        if "\0" in rule.match + rule.to + rule.namespace:
            raise InvalidQuestion(f"rule {place}: a name must not contain a null character", rule=place)
        if rule.kind == "keep" and rule.to:
            raise InvalidQuestion(f"rule {place}: a keep rule has no `to`; remove {rule.to!r}", rule=place)
        if rule.kind == "namespace" and rule.namespace != "*":
            raise InvalidQuestion(
                f"rule {place}: a namespace rule has no `namespace`; put {rule.namespace!r} into `match`", rule=place
            )
        if rule.kind != "keep" and rule.to.startswith(rule.match) and rule.to != rule.match:
            raise InvalidQuestion(
                f"rule {place}: {rule.to!r} begins with {rule.match!r}, so the rule would apply to its own result",
                rule=place,
            )
    for place, rule in enumerate(spelled):
        if rule.kind != "keep" and not _settles(rule, spelled):
            raise InvalidQuestion(
                f"rule {place}: goes in a circle with the other rules; change one of them", rule=place
            )
    return spelled


def _spelled(rule: Rule) -> Rule:
    def settled(text: str) -> str:
        scheme, separator, rest = text.partition("://")
        return f"{SCHEME_ALIASES.get(scheme.lower(), scheme.lower())}{separator}{rest}" if separator else text

    if rule.kind == "namespace":
        return msgspec.structs.replace(rule, match=settled(rule.match), to=settled(rule.to))
    return msgspec.structs.replace(rule, namespace=settled(rule.namespace))


def _settles(rule: Rule, rules: tuple[Rule, ...]) -> bool:
    """Return whether a name that the rule applies to stops changing."""
    spaces = [rule.match] if rule.kind == "namespace" else _spaces(rule, rules)
    for space in spaces:
        now = DatasetName(f"{space}x", "x") if rule.kind == "namespace" else DatasetName(space, f"{rule.match}x")
        for _ in range(_ROUNDS):
            before = now
            for other in rules:
                now = _applied(other, now)
            if now == before:
                break
        else:
            return False
    return True


def _spaces(rule: Rule, rules: tuple[Rule, ...]) -> list[str]:
    """Namespaces in which to try a name rule: those that any rule mentions and this rule applies to."""
    named = {r.namespace for r in rules} | {r.to for r in rules if r.kind == "namespace"} | {"x", "file"}
    return sorted(space for space in named if space and fnmatch.fnmatchcase(space, rule.namespace))


def folded(name: DatasetName) -> Placed:
    """Fold the partition at the end of a name. Returns the rest of the name and that partition; `Identity` repeats it until there is none.

    In paths: `k=v` segments, with all segments below them; dates (`2019-08-01`, `20190801`, `2019/08/01`, each also with an hour below;
    `2019-08`, `2019/08`) at the end or above one file; a date at the end of a file's stem. A file that is a piece (`part-0001.parquet`)
    belongs to its folder; any other file is a dataset. In tables: `t_20190801`, `t$20190801`, `t-20190801`. A name that consists of partitions
    only stays whole.
    """
    if is_path(name.namespace) or name.name.startswith("/"):
        return _folded_path(name)
    match = _DATED.fullmatch(name.name)
    if match and match["mark"] != "." and not match["ending"] and not match["dash"] and (day := _day_after(match)):
        return Placed(DatasetName(name.namespace, match["stem"]), (("date", day),))
    return Placed(name)


def _folded_path(name: DatasetName) -> Placed:
    segments = name.name.split("/")
    keys = [index for index, segment in enumerate(segments) if _KEY_VALUE.fullmatch(segment)]
    if keys and any(segments[: keys[0]]):
        # Hive partitions: everything from the first `k=v` segment on.
        part = tuple((m[1], m[2]) for segment in segments[keys[0] :] if (m := _KEY_VALUE.fullmatch(segment)))
        return Placed(DatasetName(name.namespace, "/".join(segments[: keys[0]])), part)
    file = segments[-1] if len(segments) > 1 and _ENDING.fullmatch(segments[-1]) else None
    end = len(segments) - (1 if file else 0)
    taken, part = _dates_at_end(segments[:end])
    if taken:
        left = segments[: end - taken] + ([file] if file and not _PIECE.fullmatch(file) else [])
        if any(left):
            return Placed(DatasetName(name.namespace, "/".join(left)), part)
    if file and (match := _DATED.fullmatch(file)) and match["ending"] and (day := _day_after(match)):
        stem = "/".join([*segments[:-1], match["stem"] + match["ending"]])
        return Placed(DatasetName(name.namespace, stem), (("date", day),))
    return Placed(name)


def _dates_at_end(segments: list[str]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """The number of segments at the end that form a date, and the date."""
    if not segments:
        return 0, ()
    if len(segments) > 1 and _HOUR.fullmatch(segments[-1]):
        taken, day = _day_at_end(segments[:-1])
        if taken:
            return taken + 1, (("date", day), ("hour", segments[-1]))
    taken, day = _day_at_end(segments)
    if taken:
        return taken, (("date", day),)
    last = segments[-1]
    if (month := _MONTH.fullmatch(last)) and _valid(month[1], month[2], "01"):
        return 1, (("month", last),)
    if (match := _SPLIT_MONTH.search("/".join(segments[-2:]))) and _valid(match[1], match[2], "01"):
        return 2, (("month", f"{match[1]}-{match[2]}"),)
    return 0, ()


def _day_at_end(segments: list[str]) -> tuple[int, str]:
    if day := _day(segments[-1]):
        return 1, day
    if (match := _SPLIT_DAY.search("/".join(segments[-3:]))) and _valid(match[1], match[2], match[3]):
        return 3, f"{match[1]}-{match[2]}-{match[3]}"
    return 0, ""


def _day_after(match: re.Match[str]) -> str | None:
    """The date at the end of a name, unless it ends a span of time."""
    return None if _SPAN.search(match["stem"]) else _day(match["date"])


def _day(text: str) -> str | None:
    match = _DAY.fullmatch(text)
    return f"{match[1]}-{match[3]}-{match[4]}" if match and _valid(match[1], match[3], match[4]) else None


def _valid(year: str, month: str, day: str) -> bool:
    """Return whether it is a date between 1970 and 2100; other 8 digits are probably not a date."""
    try:
        return 1970 <= dt.date(int(year), int(month), int(day)).year <= 2100
    except ValueError:
        return False
