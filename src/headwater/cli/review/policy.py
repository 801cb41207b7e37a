"""The policy of a repository, `.headwater/review.yaml`: which effects fail a review."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import yaml

from headwater.cli.review.results import ORDER, Affected, Review
from headwater.entities.plans.priority import tier as rank_of
from headwater.errors import InvalidQuestion

PATH = Path(".headwater/review.yaml")
FailOn = Literal["breaks", "changes_values", "may_change", "never"]
_FORM = (
    "write `fail_on: breaks`, `changes_values`, `may_change` or `never`, and below `rules:` a list of `match` (a list of patterns) or `tier`, "
    "each with `fail_on`"
)
_Read = TypeVar("_Read")


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    """Tables and files, and the least effect on them that fails. `match`: by patterns (`marts.*`), by default all. `tier`: only those of this tier or
    a better one (`1`, `gold`), which a table without a tier never is."""

    fail_on: FailOn
    match: list[str] = msgspec.field(default_factory=lambda: ["*"])
    tier: int | str | None = None

    def holds(self, names: Iterable[str], tier: str) -> bool:
        """Return whether the rule speaks of what has one of the names, and this tier, "" for none."""
        if not any(fnmatchcase(name, each) for each in self.match for name in names):
            return False
        if self.tier is None:
            return True
        own, least = rank_of(tier), rank_of(str(self.tier))
        return own == least or (own[0] == 0 == least[0] and own <= least)


class Policy(msgspec.Struct, forbid_unknown_fields=True):
    """The first rule that holds counts, else `fail_on`."""

    fail_on: FailOn = "breaks"
    rules: list[Rule] = []

    @property
    def has_tiers(self) -> bool:
        return any(rule.tier is not None for rule in self.rules)

    def missing_tiers(self, review: Review) -> list[str]:
        """Return the problem of rules by tier where no table of a review has one."""
        if (
            not self.has_tiers
            or not any(one.table for one in review.affected)
            or any(one.tier for one in review.affected)
        ):
            return []
        return [
            "the policy has rules by tier, and none of these tables has one: give a model `meta: {tier: 1}`, or tag the table on the server "
            "of --url: headwater tag TABLE tier=1"
        ]

    def fails(self, one: Affected) -> bool:
        return self.fails_by((one.table, one.place), one.severity, one.tier)

    def fails_by(self, names: Iterable[str], severity: str, tier: str) -> bool:
        names = tuple(names)
        rule = next((rule for rule in self.rules if rule.holds(names, tier)), None)
        least = rule.fail_on if rule is not None else self.fail_on
        return least != "never" and ORDER.index(severity) >= ORDER.index(least)


def find_policy(paths: Iterable[str]) -> Path | None:
    """Return the policy of the current folder, else that of the reviewed paths: the nearest one from each up to the root of its repository.

    Raises InvalidQuestion if the paths have different ones.
    """
    if PATH.is_file():
        return PATH
    found = {one for path in paths if (one := _nearest_policy(Path(path).resolve())) is not None}
    if len(found) > 1:
        listed = ", ".join(map(str, sorted(found)))
        raise InvalidQuestion(f"the paths have different policies: {listed}; choose one with --policy")
    return next(iter(found), None)


def _nearest_policy(path: Path) -> Path | None:
    """Return the policy in a path's folder or in one above it, up to the root of the repository; outside of a repository only in the first."""
    folder = path.parent if path.is_file() else path
    folders = [folder, *folder.parents]
    end = next((place for place, one in enumerate(folders) if (one / ".git").exists()), 0)
    return next((one / PATH for one in folders[: end + 1] if (one / PATH).is_file()), None)


def read_policy(path: Path | None) -> Policy:
    """Read the policy of this file, or the default one for None. Raises InvalidQuestion, with the line, for one that cannot be read."""
    if path is None:
        return Policy()
    try:
        text = path.read_text(encoding="utf-8")
        tree, content = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidQuestion(f"{path}: {error}") from error
    if content is None:
        return Policy()
    if not isinstance(content, dict):
        kind = "a list" if isinstance(content, list) else f"{content!r}"
        raise InvalidQuestion(f"{path}:{_line(tree)}: the policy is {kind}; {_FORM}")
    for key, rule in zip(_children(tree, "rules"), _listed(content.get("rules")), strict=False):
        place = f"{path}:{_line(key)}"
        read = _convert(rule, Rule, place)
        if not read.match:
            raise InvalidQuestion(
                f"{place}: `match` is empty, so the rule speaks of nothing; write patterns or leave it out"
            )
        if "match" not in rule and read.tier is None:
            raise InvalidQuestion(
                f"{place}: the rule has neither `match` nor `tier`; write the policy's own `fail_on` for all tables"
            )
        if read.tier == "":
            raise InvalidQuestion(f"{place}: `tier` is empty; write one as the models have it: `tier: 1`")
    return _convert(content, Policy, f"{path}:{_line(tree)}")


def _convert(content: Any, kind: type[_Read], place: str) -> _Read:
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InvalidQuestion(f"{place}: {error}; {_FORM}") from error


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _children(node: Any, key: str) -> list[Any]:
    """Return the nodes of the list under a key."""
    return next((_listed(value.value) for name, value in node.value if name.value == key), [])
