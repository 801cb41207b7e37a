"""Decide which troubles raise an alert, under which cause, and who gets it.

Pure: the same troubles give the same alerts, live and in a replay of the past.
"""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from headwater.entities.alerts.rules import DOWNSTREAM, OWNER, TEAM, Rule, RuleSet, is_address
from headwater.entities.alerts.selectors import Traits, selects
from headwater.model.alerts import Alert, AlertHistory, PlannedMessage, WatchedTrouble
from headwater.model.troubles import Trouble

_SECOND: Final = dt.timedelta(seconds=1)
_FIRST_STAGE: Final = 0


class ActiveRule(msgspec.Struct, frozen=True):
    """A rule, and since when it holds: it tells only what begins later."""

    rule: Rule
    since: dt.datetime


class Match(msgspec.Struct, frozen=True):
    """A trouble, and the rules that tell it."""

    trouble: Trouble
    rules: tuple[Rule, ...]


class Contacts(msgspec.Struct, frozen=True):
    """The people behind a subject. `downstream`: the owners of all that is made from it."""

    owners: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    downstream: tuple[str, ...] = ()


def match(
    rules: Sequence[ActiveRule], troubles: Iterable[Trouble], traits: Mapping[str, Traits], known: AlertHistory
) -> list[Match]:
    """Return the troubles that a rule tells and that were not told before, in the order in which they began."""
    times = {key: list(some) for key, some in known.times.items()}
    found: dict[uuid.UUID, Match] = {}
    for one in sorted(troubles, key=lambda one: (one.since, one.id)):
        if one.id in known.ids or one.id in found:
            continue
        told = times.get((one.event, one.subject), [])
        subject = traits.get(one.subject, Traits(one.subject))
        matching = tuple(
            active.rule
            for active in rules
            if _watches(active, one, subject)
            and not any(abs(one.since - at) < active.rule.pause(one.event) * _SECOND for at in told)
        )
        if matching:
            found[one.id] = Match(one, matching)
            times.setdefault((one.event, one.subject), told).append(one.since)
    return list(found.values())


def _watches(active: ActiveRule, one: Trouble, subject: Traits) -> bool:
    rule = active.rule
    declares = one.event == "late" and (rule.by is not None or rule.within is not None)
    return (
        one.event in rule.when
        and one.since > active.since
        and one.rule == (rule.name if declares else "")
        and one.unused in {None, rule.unused}
        and (one.factor is None or one.factor >= rule.factor)
        and (not rule.of or selects(rule.of, subject))
        and not selects(rule.but, subject)
    )


def plan(
    matches: Iterable[Match],
    causes: Mapping[uuid.UUID, Trouble],
    contacts: Mapping[str, Contacts],
    people: Mapping[str, tuple[str, ...]],
    now: dt.datetime | None = None,
) -> list[Alert]:
    """Group matches by their first cause, with one message for each address and stage. `now`: when it is decided; None: when each trouble began."""
    grouped: dict[uuid.UUID, tuple[Trouble, list[Match]]] = {}
    for one in matches:
        cause = causes.get(one.trouble.id, one.trouble)
        grouped.setdefault(cause.id, (cause, []))[1].append(one)
    return [_alert(cause, some, contacts, people, now) for cause, some in grouped.values()]


def _alert(
    cause: Trouble,
    matches: Sequence[Match],
    contacts: Mapping[str, Contacts],
    people: Mapping[str, tuple[str, ...]],
    now: dt.datetime | None,
) -> Alert:
    planned: dict[tuple[int, str], PlannedMessage] = {}
    unaddressed: dict[str, None] = {}
    for one in matches:
        behind = contacts.get(one.trouble.subject, Contacts())
        for rule in one.rules:
            at = (one.trouble.since if now is None else now) + rule.settle * _SECOND
            stages = [(_FIRST_STAGE, 0, rule.to)]
            stages += [(stage, each.after, each.to) for stage, each in enumerate(rule.escalate, 1)]
            for stage, after, to in stages:
                due = at + after * _SECOND
                due = rule.quiet.end(due) if rule.quiet is not None else due
                addresses, missing = resolve_addresses(to, behind, people)
                unaddressed |= dict.fromkeys(missing)
                for address in addresses:
                    planned.setdefault((stage, address), PlannedMessage(rule.name, stage, address, due, rule.severity))
    members = tuple(WatchedTrouble(one.trouble, tuple(rule.name for rule in one.rules)) for one in matches)
    return Alert(cause, members, tuple(planned.values()), tuple(unaddressed))


def resolve_addresses(
    to: Iterable[str], behind: Contacts, people: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], list[str]]:
    """Return the addresses of what a rule names, and the names that have none. Owners are named by producers, who may write anything."""
    names: list[str] = []
    missing: list[str] = []
    for word in to:
        if word == OWNER:
            names += behind.owners
        elif word == DOWNSTREAM:
            names += behind.downstream
        elif word == TEAM:
            names += [f"team {team}" for team in behind.teams]
        else:
            names.append(word)
        if word == OWNER and not behind.owners:
            missing.append("the owner, who is not named")
    addresses: dict[str, None] = {}
    for name in dict.fromkeys(names):
        if name in people:
            addresses |= dict.fromkeys(people[name])
        elif is_address(name):
            addresses[name] = None
        else:
            missing.append(name)
    return list(addresses), missing


def active_rules(versions: Sequence[tuple[dt.datetime, RuleSet]]) -> list[ActiveRule]:
    """Return the rules of the last of these versions, the oldest first, each since the version from which on every one has a rule of its name."""
    since: dict[str, dt.datetime] = {}
    for at, version in versions:
        names = {rule.name for rule in version.rules}
        since = {name: since.get(name, at) for name in names}
    return [ActiveRule(rule, since[rule.name]) for rule in (versions[-1][1].rules if versions else ())]
