"""Rules of alerts as people write them, in YAML beside the code that they are about:

rules:
  - name: gold is there by seven
    when: late
    of: tag:gold
    by: 07:00 Europe/Berlin
    to: [owner, downstream owners, channel:data-alerts]
    escalate: {after: 30m, to: on-call@example.com}
people:
  ana: ana@example.com
  team web: channel:web
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from headwater.entities.alerts.selectors import Selector, read_selector
from headwater.entities.alerts.times import Deadline, Quiet, read_deadline, read_quiet
from headwater.entities.declaration.document import Part, Problem, parts
from headwater.entities.declaration.fields import Fields
from headwater.errors import InvalidRules

EVENTS: Final = (
    "failed", "late", "failed_check", "wrong", "schema_changed", "first_seen", "gone", "used_again", "cost_jump", "slower",
    "coverage_dropped", "producer_silent", "dead_letters", "policy_broken",
)  # fmt: skip
MEASURED: Final = frozenset({"cost_jump", "slower", "coverage_dropped"})
"""Found in measurements, which say the same day after day: told once a day at most, unless the rule says otherwise."""
OWNER, DOWNSTREAM, TEAM = "owner", "downstream owners", "team"
_ROLES: Final = (OWNER, DOWNSTREAM, TEAM)
CHANNEL: Final = "channel:"
_WORDS: Final = (
    "name", "when", "of", "except", "to", "every", "by", "within", "factor", "unused", "quiet", "escalate", "settle", "severity",
)  # fmt: skip
_OTHERS: Final = {
    "event": "when",
    "on": "when",
    "watch": "of",
    "select": "of",
    "notify": "to",
    "repeat": "every",
    "mute": "quiet",
}
_DAY: Final = 86_400
SEVERITIES: Final = ("warning", "info", "error", "critical")


class RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    """A text of rules; `name` is what messages call it."""

    name: str
    text: str


class Escalation(msgspec.Struct, frozen=True):
    """Tell these too if the alert is neither acknowledged nor over after so many seconds."""

    after: int
    to: tuple[str, ...]


class Rule(msgspec.Struct, frozen=True):
    """One rule, with its place.

    `of`: any of these selects; empty: everything. `to`: `owner`, `downstream owners`, `team`, a mail address, `channel:NAME`, or a name
    of `people`. `every`: at most one alert about one object and event in so many seconds. `by`, `within`: a declared deadline of `late`;
    without one it is learned. `factor`: of `cost_jump` and `slower`, by how much at least. `unused`: of `used_again`, seconds without a
    read. `settle`: seconds to wait for more of one cause.
    """

    name: str
    file: str
    line: int
    when: tuple[str, ...]
    to: tuple[str, ...]
    of: tuple[Selector, ...] = ()
    but: tuple[Selector, ...] = ()
    every: int | None = None
    by: Deadline | None = None
    within: int | None = None
    factor: float = 1.5
    unused: int = 30 * _DAY
    quiet: Quiet | None = None
    escalate: tuple[Escalation, ...] = ()
    settle: int = 60
    severity: str = "warning"

    def pause(self, event: str) -> int:
        """The seconds in which an object and event raise one alert."""
        return self.every if self.every is not None else _DAY if event in MEASURED else 0


class RuleSet(msgspec.Struct, frozen=True):
    """Rules, and the addresses of `people`: owners by name, teams as `team NAME`."""

    rules: tuple[Rule, ...] = ()
    people: Mapping[str, tuple[str, ...]] = {}


def read_rules(files: Sequence[RuleFile]) -> RuleSet:
    """Read the rules of all files, in order. InvalidRules with every mistake, as `file:line:column: text`."""
    problems: list[Problem] = []
    fields = Fields(problems)
    rules: list[Rule] = []
    people: dict[str, tuple[str, ...]] = {}
    for file in files:
        for document in parts(file.text, file.name, problems):
            fields.who = ""
            told = fields.mapping(document, "the file", ("rules", "people"))
            for part in fields.items(told.get("rules")):
                if (rule := _rule(part, fields)) is not None:
                    rules.append(rule)
            people |= _people(told.get("people"), fields)
    first: dict[str, Rule] = {}
    for one in rules:
        if (old := first.setdefault(one.name, one)) is not one:
            problems.append(
                Problem(one.file, one.line, 1, f"rule {one.name!r} is also in {old.file}:{old.line}; rename one")
            )
    if not rules and not problems:
        names = ", ".join(file.name for file in files) or "the request"
        problems.append(Problem(names, 1, 1, "no rule is in it; begin with `rules:` and a list"))
    if problems:
        raise InvalidRules(
            f"the rules are wrong in {len(problems)} place{'s' * (len(problems) > 1)}",
            problems=[str(problem) for problem in problems],
        )
    return RuleSet(tuple(rules), people)


def _rule(part: Part, fields: Fields) -> Rule | None:
    fields.who = ""
    told = fields.mapping(part, "a rule", _WORDS, _OTHERS)
    if not told:
        return None
    name = fields.text(told.get("name"), "name")
    if not name:
        fields.note(part.place, "a rule has no name; give it one, by which its alerts are listed")
    fields.who = f"rule {name!r}"
    when = _events(told.get("when"), part, fields)
    to = _addresses(told.get("to"), part, fields)
    late_words = [word for word in ("by", "within") if word in told]
    if late_words and "late" not in when:
        fields.note(told[late_words[0]].place, f"{late_words[0]} is about `when: late`; leave it out, or watch late")
    if len(late_words) > 1:
        fields.note(told["within"].place, "write by or within, not both")
    severity = fields.choice(told.get("severity"), "severity", SEVERITIES)
    settle = _seconds(told.get("settle"), "settle", fields)
    unused = fields.seconds(told.get("unused"), "unused")
    return Rule(
        name=name,
        file=part.place.file,
        line=part.place.line,
        when=when,
        to=to,
        of=_selectors(told.get("of"), "of", fields),
        but=_selectors(told.get("except"), "except", fields),
        every=_seconds(told.get("every"), "every", fields),
        by=read_deadline(told.get("by"), fields),
        within=fields.seconds(told.get("within"), "within"),
        factor=_factor(told.get("factor"), fields),
        unused=30 * _DAY if unused is None else unused,
        quiet=read_quiet(told.get("quiet"), fields),
        escalate=tuple(
            one for each in fields.items(told.get("escalate")) if (one := _escalation(each, fields)) is not None
        ),
        settle=60 if settle is None else settle,
        severity=severity,
    )


def _events(part: Part | None, rule: Part, fields: Fields) -> tuple[str, ...]:
    if part is None:
        fields.note(rule.place, f"watches nothing; write `when:` with one of {', '.join(EVENTS)}")
        return ()
    found = []
    for each in fields.items(part):
        word = fields.text(each, "when").lower().replace(" ", "_").replace("-", "_")
        if word in EVENTS:
            found.append(word)
        elif word:
            fields.note(each.place, f"when has no {word!r}; write one of {', '.join(EVENTS)}")
    return tuple(dict.fromkeys(found))


def _addresses(part: Part | None, owner: Part, fields: Fields) -> tuple[str, ...]:
    found = fields.texts(part, "to")
    if not found:
        fields.note(
            owner.place, "tells no one; write `to:` with owner, downstream owners, team, an address or channel:NAME"
        )
    return tuple(text.lower().replace("_", " ") if text.lower().replace("_", " ") in _ROLES else text for text in found)


def _selectors(part: Part | None, what: str, fields: Fields) -> tuple[Selector, ...]:
    found = []
    for each in fields.items(part):
        text = fields.text(each, what)
        if text and (one := read_selector(text, each.place, what, fields)) is not None:
            found.append(one)
    return tuple(found)


def _seconds(part: Part | None, what: str, fields: Fields) -> int | None:
    """A length, or 0."""
    return 0 if part is not None and part.value == "0" else fields.seconds(part, what)


def _factor(part: Part | None, fields: Fields) -> float:
    if part is None:
        return 1.5
    try:
        factor = float(fields.text(part, "factor"))
    except ValueError:
        factor = 0.0
    if not 1.0 < factor <= 1000.0:
        fields.note(part.place, f"factor is {part.value!r}; write a number over 1, such as 1.5")
        return 1.5
    return factor


def _escalation(part: Part, fields: Fields) -> Escalation | None:
    told = fields.mapping(part, "escalate", ("after", "to"))
    after = fields.seconds(told.get("after"), "after")
    if "after" not in told:
        fields.note(part.place, "escalate has no after; write such as `after: 30m`")
    to = _addresses(told.get("to"), part, fields)
    return Escalation(after, to) if after is not None and to else None


def _people(part: Part | None, fields: Fields) -> dict[str, tuple[str, ...]]:
    fields.who = "people"
    if part is None:
        return {}
    if not isinstance(part.value, dict):
        fields.note(part.place, "write a name and an address on each line, such as `ana: ana@example.com`")
        return {}
    found = {}
    for name, each in part.value.items():
        addresses = fields.texts(each, name)
        for text in addresses:
            if "@" not in text and not text.startswith(CHANNEL):
                fields.note(each.place, f"{name!r} has the address {text!r}; write a mail address or channel:NAME")
        found[name] = addresses
    return found
