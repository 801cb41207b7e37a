"""Policies: rules about where tagged values may be, what may read what, and who may write. A policy is a YAML mapping, in a list called `policies`:

policies:
  - name: no personal data in marketing
    tag: pii
    never_in: marketing.*
    except:
      - {dataset: marketing.newsletter, until: 2027-01-31, reason: consent by form 12}
  - name: gold reads no raw
    datasets: gold.*
    never_reads: raw.*
  - name: finance writes its own
    datasets: finance.*
    written_by: finance_*
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from headwater.entities.declaration.document import Part, Problem, parts
from headwater.entities.declaration.fields import Fields
from headwater.errors import InvalidPolicies
from headwater.model.patterns import MOST_STARS, Pattern

_WORDS: Final = ("name", "tag", "never_in", "only_in", "masked", "datasets", "never_reads", "written_by", "except")
_RULES: Final = ("never_in", "only_in", "never_reads", "written_by")


class PolicyException(msgspec.Struct, frozen=True):
    """Datasets that a policy does not hold for, to the end of the day `until` (UTC), or for ever, and why."""

    dataset: Pattern
    until: dt.date | None
    reason: str

    def holds(self, name: str, day: dt.date) -> bool:
        return (self.until is None or day <= self.until) and self.dataset.matches(name)


class Policy(msgspec.Struct, frozen=True):
    """One policy, with its place. `rule`: never_in, only_in (of `tag`), never_reads, written_by (of `datasets`); `patterns`: what the rule names.
    `masked_allowed`: masked values do not break a rule about a tag.
    """

    name: str
    file: str
    line: int
    rule: str
    patterns: tuple[Pattern, ...]
    tag: str = ""
    datasets: tuple[Pattern, ...] = ()
    masked_allowed: bool = True
    exceptions: tuple[PolicyException, ...] = ()


class PolicyFile(msgspec.Struct, forbid_unknown_fields=True):
    """A text of policies; `name` is what messages call it."""

    name: str
    text: str


class PolicySet(NamedTuple):
    """Policies in which nothing is wrong, in order, and the mistakes in the others, as `file:line:column: text`."""

    policies: list[Policy]
    problems: list[str]


def read_policies(files: Sequence[PolicyFile]) -> list[Policy]:
    """Read the policies of all files, in order. InvalidPolicies with every mistake, as `file:line:column: text`."""
    found, problems = read_in_part(files)
    if not found and not problems:
        names = ", ".join(file.name for file in files) or "the request"
        problems = [str(Problem(names, 1, 1, "no policy is in it; begin with `policies:` and a list"))]
    if problems:
        raise InvalidPolicies(
            f"the policies are wrong in {len(problems)} place{'s' * (len(problems) > 1)}", problems=problems
        )
    return found


def read_in_part(files: Sequence[PolicyFile]) -> PolicySet:
    """Read the policies in which nothing is wrong, with the mistakes in the others."""
    problems: list[Problem] = []
    found = [policy for file in files for policy in _of_file(file, problems)]
    first: dict[str, Policy] = {}
    for one in found:
        if (old := first.setdefault(one.name, one)) is not one:
            problems.append(Problem(one.file, one.line, 1, f"policy {one.name!r} is also in {old.file}:{old.line}"))
    return PolicySet(found, [str(problem) for problem in problems])


def _of_file(file: PolicyFile, problems: list[Problem]) -> list[Policy]:
    fields = Fields(problems)
    found = []
    for document in parts(file.text, file.name, problems):
        fields.who = ""
        for part in fields.items(fields.mapping(document, "the file", ("policies",)).get("policies")):
            before = len(problems)
            policy = _policy(part, fields)
            if policy is not None and len(problems) == before:
                found.append(policy)
    return found


def _policy(part: Part, fields: Fields) -> Policy | None:
    fields.who = ""
    told = fields.mapping(part, "a policy", _WORDS)
    if not told:
        return None
    name = fields.text(told.get("name"), "name")
    if not name:
        fields.note(part.place, "a policy has no name; give it one, which its violations are reported by")
    fields.who = f"policy {name!r}"
    rules = [word for word in _RULES if word in told]
    if len(rules) != 1:
        fields.note(part.place, f"has {' and '.join(rules) or 'no rule'}; write one of {', '.join(_RULES)}")
        return None
    (rule,) = rules
    subject, other = ("tag", "datasets") if rule in {"never_in", "only_in"} else ("datasets", "tag")
    if subject not in told:
        fields.note(part.place, f"{rule} is about {subject}, which is not given")
    for word in (other, *(("masked",) if subject == "datasets" else ())):
        if word in told:
            fields.note(told[word].place, f"{word} says nothing beside {rule}; leave it out")
    masked = fields.choice(told.get("masked"), "masked", ("allowed", "refused"))
    return Policy(
        name=name,
        file=part.place.file,
        line=part.place.line,
        rule=rule,
        patterns=_patterns(told[rule], rule, fields),
        tag=fields.text(told.get("tag"), "tag") if subject == "tag" else "",
        datasets=_patterns(told.get("datasets"), "datasets", fields) if subject == "datasets" else (),
        masked_allowed=masked == "allowed",
        exceptions=tuple(
            one for each in fields.items(told.get("except")) if (one := _exception(each, fields)) is not None
        ),
    )


def _patterns(part: Part | None, what: str, fields: Fields) -> tuple[Pattern, ...]:
    found = fields.texts(part, what)
    if part is not None and any(text.count("*") > MOST_STARS for text in found):
        fields.note(part.place, f"{what} has a pattern with more than {MOST_STARS} `*`; write it shorter")
    return tuple(Pattern(text) for text in found)


def _exception(part: Part, fields: Fields) -> PolicyException | None:
    told = fields.mapping(part, "except", ("dataset", "until", "reason"))
    reason = fields.text(told.get("reason"), "reason")
    for word in ("dataset", "reason"):
        if word not in told:
            fields.note(part.place, f"an exception has no {word}")
    until = None
    if "until" in told:
        try:
            until = dt.date.fromisoformat(fields.text(told["until"], "until"))
        except ValueError:
            fields.note(told["until"].place, "until is no day; write such as 2027-01-31")
    patterns = _patterns(told.get("dataset"), "dataset", fields)
    return PolicyException(patterns[0], until, reason) if patterns and reason else None
