"""The policy of a repository, `.headwater/review.yaml`: which effects fail a review."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from headwater.cli.review.differences import ORDER, Affected
from headwater.errors import InvalidQuestion

PATH = Path(".headwater/review.yaml")
FailOn = Literal["breaks", "changes_values", "never"]


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    """Tables and files by patterns (`marts.*`), and the least effect on them that fails."""

    match: list[str]
    fail_on: FailOn
    tier: int | None = None


class Policy(msgspec.Struct, forbid_unknown_fields=True):
    """The first rule that matches counts, else `fail_on`."""

    fail_on: FailOn = "breaks"
    rules: list[Rule] = []

    def fails(self, one: Affected) -> bool:
        return self.fails_by((one.table, one.place), one.severity)

    def fails_by(self, names: Iterable[str], severity: str) -> bool:
        names = tuple(names)
        rule = next(
            (rule for rule in self.rules if any(fnmatchcase(name, each) for each in rule.match for name in names)), None
        )
        least = rule.fail_on if rule is not None else self.fail_on
        return least != "never" and ORDER.index(severity) >= ORDER.index(least)


def read_policy(path: Path | None) -> Policy:
    """Read the policy; without a path that of the folder, or none. Raises InvalidQuestion for one that cannot be read."""
    if path is None and not PATH.is_file():
        return Policy()
    path = path or PATH
    try:
        return msgspec.convert(yaml.safe_load(path.read_bytes()) or {}, Policy)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise InvalidQuestion(f"{path}: {error}") from error
