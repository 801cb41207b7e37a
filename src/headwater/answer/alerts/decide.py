"""Decide what rules tell about a window of time: detect, match, find causes, and plan the messages."""

import datetime as dt
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from headwater.answer.alerts.causes import find_causes
from headwater.answer.alerts.detectors import (
    checks,
    datasets,
    lateness,
    measurements,
    policies,
    producers,
    runs,
    verdicts,
)
from headwater.answer.lineage.traits import load_contacts, load_traits
from headwater.entities.alerts.deciding import ActiveRule, Match, match, plan
from headwater.entities.alerts.rules import DOWNSTREAM, MEASURED, Rule
from headwater.entities.alerts.selectors import selects
from headwater.model.alerts import Alert, AlertHistory
from headwater.model.troubles import Trouble, Window
from headwater.store.database import Connection, Database

_BEFORE = dt.timedelta(days=7)
_DETECTORS: Mapping[str, Callable[[Connection, Window], Awaitable[list[Trouble]]]] = MappingProxyType(
    {
        "failed": runs.failed,
        "failed_check": checks.failed_checks,
        "schema_changed": datasets.schema_changed,
        "first_seen": datasets.first_seen,
        "gone": datasets.gone,
        "policy_broken": policies.policy_broken,
        "producer_silent": producers.producer_silent,
    }
)
_SLOW = dt.timedelta(days=14)
"""Measurements come late, and a level shows only after some runs: they are looked for so far back."""


async def decide(
    database: Database,
    rules: Sequence[ActiveRule],
    people: dict[str, tuple[str, ...]],
    window: Window,
    known: AlertHistory,
    *,
    now: dt.datetime | None,
    others: Iterable[Trouble] = (),
    measured: bool = True,
    late_since: dt.datetime | None = None,
) -> list[Alert]:
    """Return the alerts of a window. `now`: when messages are due; None: when each trouble began. `others`: troubles that the database has not.

    `measured`: also look for what measurements show. `late_since`: look for what becomes late from then on only, which costs most.
    """
    watched = {event for active in rules for event in active.rule.when}
    if not measured:
        watched -= MEASURED
    late = Window(max(window.since, late_since or window.since), window.until)
    found = [*await _detect(database, rules, watched, window, late), *(one for one in others if one.event in watched)]
    matches = await _match(database, rules, found, known)
    if not matches:
        return []
    told = [one.trouble for one in matches]
    wide = Window(window.since - _BEFORE, window.until)
    candidates = await _states(database, wide) if any(one.lasts for one in told) else []
    async with database.snapshot() as connection:
        causes = await find_causes(connection, told, candidates)
        nodes = {one.subject: one.node for one in told if one.node is not None}
        below = any(DOWNSTREAM in _addressed(rule) for one in matches for rule in one.rules)
        contacts = await load_contacts(connection, nodes, downstream=below)
    return plan(matches, causes, contacts, people, now)


def _addressed(rule: Rule) -> set[str]:
    return {*rule.to, *(word for each in rule.escalate for word in each.to)}


async def _match(
    database: Database, rules: Sequence[ActiveRule], troubles: Sequence[Trouble], known: AlertHistory
) -> list[Match]:
    if not troubles:
        return []
    selectors = [selector for active in rules for selector in (*active.rule.of, *active.rule.but)]
    nodes = {one.node for one in troubles if one.node is not None}
    async with database.snapshot() as connection:
        traits = await load_traits(connection, nodes, selectors)
    return match(rules, troubles, {one.id: one for one in traits.values()}, known)


async def _states(database: Database, window: Window) -> list[Trouble]:
    """Return the possible causes of others: all troubles that last, whether a rule watches them or not."""
    async with database.snapshot() as connection:
        found = [*await runs.failed(connection, window), *await runs.still_failing(connection, window.since)]
        found += await checks.failed_checks(connection, window)
        found += await lateness.late(connection, window, await lateness.load_updates(connection, window))
    return [*found, *await verdicts.wrong(database, window)]


async def _detect(
    database: Database, rules: Sequence[ActiveRule], watched: Collection[str], window: Window, late: Window
) -> list[Trouble]:
    found: list[Trouble] = []
    async with database.snapshot() as connection:
        for event, detect in _DETECTORS.items():
            if event in watched:
                found += await detect(connection, window)
        if "late" in watched:
            found += await _late(connection, [active.rule for active in rules if "late" in active.rule.when], late)
        for unused in {active.rule.unused for active in rules if "used_again" in active.rule.when}:
            found += await datasets.used_again(connection, window, unused)
    if "wrong" in watched:
        found += await verdicts.wrong(database, window)
    slow = Window(min(window.since, window.until - _SLOW), window.until)
    if "coverage_dropped" in watched:
        found += await measurements.coverage_dropped(database, slow)
    if "cost_jump" in watched:
        factor = min(active.rule.factor for active in rules if "cost_jump" in active.rule.when)
        async with database.snapshot() as connection:
            found += await measurements.cost_jump(connection, slow, factor)
    if "slower" in watched:
        factor = min(active.rule.factor for active in rules if "slower" in active.rule.when)
        found += await measurements.slower(database, slow, factor)
    return list({one.id: one for one in found}.values())


async def _late(connection: Connection, rules: Sequence[Rule], window: Window) -> list[Trouble]:
    """Return the datasets that are late by their rhythm, and those that miss the deadline that a rule declares."""
    declared = [rule for rule in rules if rule.by is not None or rule.within is not None]
    longest = max((rule.within or 0 for rule in declared), default=0)
    since = window.since - dt.timedelta(seconds=longest, days=8 if declared else 0)
    updates = await lateness.load_updates(connection, Window(since, window.until))
    found: list[Trouble] = []
    if any(rule.by is None and rule.within is None for rule in rules):
        found += await lateness.late(connection, window, updates)
    for rule in rules:
        if rule.by is not None or rule.within is not None:
            traits = (
                await load_traits(connection, updates.keys(), (*rule.of, *rule.but)) if rule.of or rule.but else None
            )
            of: set[uuid.UUID] = set(updates)
            if traits is not None:
                of = {
                    id_
                    for id_, one in traits.items()
                    if (not rule.of or selects(rule.of, one)) and not selects(rule.but, one)
                }
            found += await lateness.past_deadline(connection, window, updates, rule, of)
    return found
