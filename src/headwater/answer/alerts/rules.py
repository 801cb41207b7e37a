"""Rules of alerts: those that hold, their versions, and what they would have told."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence

import msgspec

from headwater.answer.alerts.alerts import WatchedText
from headwater.answer.alerts.decide import decide
from headwater.answer.alerts.live import Rulebook
from headwater.answer.lineage.traits import load_traits
from headwater.entities.alerts.deciding import ActiveRule
from headwater.entities.alerts.rules import RuleFile, RuleSet, read_rules
from headwater.entities.alerts.selectors import selects
from headwater.entities.alerts.slas import Sla, describe_deadline
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.alerts import AlertHistory
from headwater.model.moments import aware
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import alerts as alert_store
from headwater.store.alerts import applied_rules as store
from headwater.store.database import Database
from headwater.store.lineage import conflicts as conflict_store
from headwater.store.privacy import places as place_store

_LONGEST = dt.timedelta(days=400)
_LOOKED, _MOST_LOOKED = 5_000, 50_000


class RuleView(msgspec.Struct, frozen=True):
    """A rule in words. `since`: it tells what begins later."""

    name: str
    file: str
    line: int
    when: list[str]
    of: list[str]
    but: list[str]
    to: list[str]
    since: dt.datetime | None


class SlaView(msgspec.Struct, frozen=True):
    """An SLA in words. `goal`: the share that must be met in a week, 0 to 1."""

    name: str
    file: str
    line: int
    of: list[str]
    but: list[str]
    deadline: str
    goal: float | None


class RuleVersion(msgspec.Struct, frozen=True):
    version: int
    applied_at: dt.datetime
    applied_by: str


class Rules(msgspec.Struct, frozen=True):
    """The rules that hold. `trouble`: why they are not looked at now. `problems`: why this server does not look for some of what the files say."""

    version: int | None
    rules: list[RuleView]
    slas: list[SlaView]
    files: list[RuleFile]
    versions: list[RuleVersion]
    looked_at: dt.datetime | None
    trouble: str | None
    problems: list[str]


class TestQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """Rules to try on the past: their texts (empty: the rules that hold), and from when to when (null: now)."""

    since: dt.datetime
    files: list[RuleFile] = []
    until: dt.datetime | None = None


class WouldSend(msgspec.Struct, frozen=True):
    rule: str
    stage: int
    address: str
    due_at: dt.datetime


class TestedTrouble(WatchedText, frozen=True):
    """`told`: whether an alert about it exists already."""

    told: bool


class TestedAlert(msgspec.Struct, frozen=True):
    """`id`: that of the alert if it is ever stored."""

    id: str
    event: str
    subject: str
    label: str
    since: dt.datetime
    until: dt.datetime | None
    text: str
    members: list[TestedTrouble]
    messages: list[WouldSend]
    unaddressed: list[str]


class TestedRules(msgspec.Struct, frozen=True):
    """The alerts that rules would have given, in the order of the causes. Nothing is sent or stored. `counts`: troubles by rule."""

    since: dt.datetime
    until: dt.datetime
    alerts: list[TestedAlert]
    messages: int
    counts: dict[str, int]


async def rules(database: Database, limit: int = 20) -> Rules:
    """Return the rules that hold, with the latest versions."""
    async with database.snapshot() as connection:
        versions = await store.versions(connection, "rules", limit)
        looked, _, trouble = await alert_store.state(connection)
        held = await Rulebook().load(connection)
    return Rules(
        versions[0].version if versions else None,
        [_view(active) for active in held.rules],
        [_sla_view(one) for one in held.slas],
        msgspec.json.decode(versions[0].files, type=list[RuleFile]) if versions else [],
        [RuleVersion(one.version, one.applied_at, one.applied_by) for one in versions],
        None if looked.year < 2000 else looked,
        trouble,
        list(held.problems),
    )


async def unmatched_selectors(database: Database, files: Sequence[RuleFile]) -> list[str]:
    """Return the selectors of these rules and SLAs that select no dataset and no job now: a name may be misspelt, or not be there yet.

    Empty if there are too many datasets to look at them all.
    """
    found = read_rules(files) if files else RuleSet()
    left = {
        f"{what} {one.name!r}: {word} {selector}": selector
        for what, some in (("rule", found.rules), ("SLA", found.slas))
        for one in some
        for word, selectors in (("of", one.of), ("except", one.but))
        for selector in selectors
    }
    if not left:
        return []
    async with database.snapshot() as connection:
        datasets = [id_ for id_, _ in await place_store.datasets(connection)]
        ids = [*datasets, *await conflict_store.jobs_after(connection, None, None, _MOST_LOOKED + 1)]
        if len(ids) > _MOST_LOOKED:
            return []
        for start in range(0, len(ids), _LOOKED):
            traits = await load_traits(connection, ids[start : start + _LOOKED], left.values())
            left = {
                text: one for text, one in left.items() if not any(selects((one,), each) for each in traits.values())
            }
            if not left:
                break
    return list(left)


async def version(database: Database, number: int) -> list[RuleFile]:
    """Return the files of a version. Raises NotFound."""
    async with database.snapshot() as connection:
        found = await store.version(connection, "rules", number)
    if found is None:
        raise NotFound(
            f"there is no version {number} of the rules; list them with `headwater rules show`", version=number
        )
    return msgspec.json.decode(found.files, type=list[RuleFile])


async def try_rules(database: Database, question: TestQuestion, others: Sequence[Trouble]) -> TestedRules:
    """Return what rules would have told of the past. Raises InvalidRules, and InvalidQuestion for times out of order."""
    since, until = aware(question.since), aware(question.until or dt.datetime.now(dt.UTC))
    if not since < until or until - since > _LONGEST:
        raise InvalidQuestion("since must be before until, by at most 400 days", parameter="since")
    async with database.snapshot() as connection:
        if question.files:
            told = read_rules(question.files)
            active, people = tuple(ActiveRule(rule, since) for rule in told.rules), dict(told.people)
        else:
            held = await Rulebook().load(connection)
            active, people = tuple(ActiveRule(one.rule, since) for one in held.rules), held.people
        before = await alert_store.load_told(connection, since)
    found = await decide(database, active, people, Window(since, until), AlertHistory(), now=None, others=others)
    alerts = []
    for one in sorted(found, key=lambda one: (one.cause.since, one.cause.id)):
        members = [
            TestedTrouble(
                each.trouble.event, each.trouble.subject, each.trouble.label, each.trouble.since, each.trouble.until, each.trouble.text,
                list(each.rules), each.trouble.id in before.ids,
            )
            for each in one.members
        ]  # fmt: skip
        messages = [WouldSend(each.rule, each.stage, each.address, each.due_at) for each in one.planned]
        cause = one.cause
        alerts.append(
            TestedAlert(
                str(cause.id), cause.event, cause.subject, cause.label, cause.since, cause.until, cause.text, members, messages,
                list(one.unaddressed),
            )
        )  # fmt: skip
    counts = Counter(rule for one in alerts for each in one.members for rule in each.rules)
    return TestedRules(since, until, alerts, sum(len(one.messages) for one in alerts), dict(sorted(counts.items())))


def _view(active: ActiveRule) -> RuleView:
    rule = active.rule
    of, but = [str(one) for one in rule.of], [str(one) for one in rule.but]
    return RuleView(rule.name, rule.file, rule.line, list(rule.when), of, but, list(rule.to), active.since)


def _sla_view(one: Sla) -> SlaView:
    of, but = [str(each) for each in one.of], [str(each) for each in one.but]
    return SlaView(one.name, one.file, one.line, of, but, describe_deadline(one), one.goal)
