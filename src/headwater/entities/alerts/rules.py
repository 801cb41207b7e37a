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

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from headwater.entities.alerts.selectors import Selector
from headwater.entities.alerts.slas import Sla, find_sla, read_selectors, read_sla
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
_MAIL: Final = re.compile(r"[^\s@,;:<>()\[\]\\\"\x00-\x1f\x7f]+@[^\s@,;:<>()\\\"\x00-\x1f\x7f]+")
_WORDS: Final = (
    "name", "when", "of", "except", "to", "every", "by", "within", "sla", "factor", "unused", "quiet", "escalate", "settle", "severity",
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


def is_address(text: str) -> bool:
    """Return whether a text is one mail address or a channel: no list of addresses, and nothing that could be a line of a mail's header."""
    return text.startswith(CHANNEL) or _MAIL.fullmatch(text) is not None


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
    of `people`. `every`: at most one alert about one object and event in so many seconds. `by`, `within`: a declared deadline of `late`,
    or that of the SLA whose name is `sla`; without one it is learned. `factor`: of `cost_jump` and `slower`, by how much at least.
    `unused`: of `used_again`, seconds without a read. `settle`: seconds to wait for more of one cause.
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
    sla: str = ""
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
    """Rules, the addresses of `people` (owners by name, teams as `team NAME`), and SLAs.

    `unread`: rules in which something is wrong, as far as they could be read; they may select less than their text says, or more. `problems`: what is
    wrong in the files.
    """

    rules: tuple[Rule, ...] = ()
    people: Mapping[str, tuple[str, ...]] = {}
    slas: tuple[Sla, ...] = ()
    unread: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()


_files = msgspec.json.Decoder(tuple[RuleFile, ...])


def decode_rules(files: str) -> RuleSet:
    """Read the rules of files as JSON, `[{name, text}]`, as people applied them: an earlier Headwater may have accepted what this one does not."""
    return read_in_part(_files.decode(files))


def read_rules(files: Sequence[RuleFile]) -> RuleSet:
    """Read the rules and SLAs of all files, in order. InvalidRules with every mistake, as `file:line:column: text`."""
    found = read_in_part(files)
    problems = found.problems
    if not (found.rules or found.slas or problems):
        names = ", ".join(file.name for file in files) or "the request"
        problems = (str(Problem(names, 1, 1, "no rule is in it; begin with `rules:` or `slas:` and a list")),)
    if problems:
        raise InvalidRules(
            f"the rules are wrong in {len(problems)} place{'s' * (len(problems) > 1)}", problems=list(problems)
        )
    return found


def read_in_part(files: Sequence[RuleFile]) -> RuleSet:
    """Read the rules and SLAs in which nothing is wrong, in order, with the mistakes in the others."""
    problems: list[Problem] = []
    fields = Fields(problems)
    rules: list[Rule] = []
    unread: list[Rule] = []
    written: list[Part] = []
    slas: list[Sla] = []
    wrong: list[Sla] = []
    people: dict[str, tuple[str, ...]] = {}
    for file in files:
        for document in parts(file.text, file.name, problems):
            fields.who = ""
            told = fields.mapping(document, "the file", ("rules", "slas", "people"), {"sla": "slas"})
            for part in fields.items(told.get("slas")):
                before = len(problems)
                if (sla := read_sla(part, fields)) is not None:
                    (slas if len(problems) == before else wrong).append(sla)
            written += fields.items(told.get("rules"))
            people |= _people(told.get("people"), fields)
    for part in written:
        before = len(problems)
        if (rule := _rule(part, (*slas, *wrong), fields)) is not None:
            sound = len(problems) == before and not any(rule.sla == sla.name for sla in wrong if rule.sla)
            (rules if sound else unread).append(rule)
    problems += [*_doubles("rule", [*rules, *unread]), *_doubles("SLA", [*slas, *wrong])]
    return RuleSet(tuple(rules), people, tuple(slas), tuple(unread), tuple(str(problem) for problem in problems))


def _doubles(what: str, found: Sequence[Rule | Sla]) -> Iterator[Problem]:
    first: dict[str, Rule | Sla] = {}
    for one in found:
        if (old := first.setdefault(one.name, one)) is not one:
            yield Problem(one.file, one.line, 1, f"{what} {one.name!r} is also in {old.file}:{old.line}; rename one")


def _rule(part: Part, slas: Sequence[Sla], fields: Fields) -> Rule | None:
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
    late_words = [word for word in ("by", "within", "sla") if word in told]
    if late_words and "late" not in when:
        fields.note(told[late_words[0]].place, f"{late_words[0]} is about `when: late`; leave it out, or watch late")
    if len(late_words) > 1:
        fields.note(told[late_words[1]].place, f"write {late_words[0]} or {late_words[1]}, not both")
    sla = _named_sla(told.get("sla"), slas, fields)
    if sla is not None and "of" in told:
        fields.note(told["of"].place, f"the SLA {sla.name!r} says of what; leave `of` out, or write the deadline here")
    severity = fields.choice(told.get("severity"), "severity", SEVERITIES)
    settle = _seconds(told.get("settle"), "settle", fields)
    unused = fields.seconds(told.get("unused"), "unused")
    return Rule(
        name=name,
        file=part.place.file,
        line=part.place.line,
        when=when,
        to=to,
        of=read_selectors(told.get("of"), "of", fields) if sla is None else sla.of,
        but=(*read_selectors(told.get("except"), "except", fields), *(() if sla is None else sla.but)),
        every=_seconds(told.get("every"), "every", fields),
        by=read_deadline(told.get("by"), fields) if sla is None else sla.by,
        within=fields.seconds(told.get("within"), "within") if sla is None else sla.within,
        sla="" if sla is None else sla.name,
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
    items = fields.items(part)
    if not items:
        fields.note(rule.place, f"watches nothing; write `when:` with one of {', '.join(EVENTS)}")
    found = []
    for each in items:
        if each.value is None:
            fields.note(each.place, f"when has an item with nothing in it; write one of {', '.join(EVENTS)}")
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
    for each in fields.items(part):
        if isinstance(each.value, str) and "@" in each.value and not is_address(each.value):
            fields.note(each.place, f"{each.value!r} is no mail address; write one such as ana@example.com for each")
    return tuple(text.lower().replace("_", " ") if text.lower().replace("_", " ") in _ROLES else text for text in found)


def _named_sla(part: Part | None, slas: Sequence[Sla], fields: Fields) -> Sla | None:
    name = fields.text(part, "sla")
    found = find_sla(slas, name)
    if part is not None and name and found is None:
        names = ", ".join(one.name for one in slas)
        fields.note(
            part.place,
            f"there is no SLA {name!r}; " + (f"write one of {names}" if names else "declare it below `slas:`"),
        )
    return found


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
            if not is_address(text):
                fields.note(each.place, f"{name!r} has the address {text!r}; write a mail address or channel:NAME")
        found[name] = tuple(text for text in addresses if is_address(text))
    return found
