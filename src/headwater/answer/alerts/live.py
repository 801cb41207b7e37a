"""The rules that hold, and what they tell now. A server asks this again and again, and stores the answer; nothing is stored here."""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence

import msgspec

from headwater.answer.alerts.decide import decide
from headwater.entities.alerts.deciding import ActiveRule, active_rules
from headwater.entities.alerts.rules import decode_rules
from headwater.entities.alerts.slas import Sla
from headwater.entities.alerts.subscribing import subscribed_selector, subscription_rule
from headwater.errors import InvalidQuestion
from headwater.model.alerts import Alert, AlertHistory
from headwater.model.troubles import Trouble, Window
from headwater.store.alerts import applied_rules as store
from headwater.store.alerts import endings as ending_store
from headwater.store.alerts import subscriptions as subscription_store
from headwater.store.alerts.alerts import OpenMember
from headwater.store.alerts.subscriptions import SubscriptionRow
from headwater.store.database import Connection, Database

_MOST_VERSIONS = 200


class HeldRules(msgspec.Struct, frozen=True):
    """The rules of the last version and those of subscriptions, and since when each holds; and the SLAs of that version.

    `problems`: what is wrong in that version; rules in which something is are not among `rules`.
    """

    rules: tuple[ActiveRule, ...]
    people: dict[str, tuple[str, ...]]
    slas: tuple[Sla, ...] = ()
    problems: tuple[str, ...] = ()


class Rulebook:
    """The rules of a database, read again only when another version was applied or a subscription changed."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._applied = self._held = HeldRules((), {})
        self._personal: list[SubscriptionRow] = []

    async def load(self, connection: Connection) -> HeldRules:
        """Return the rules that hold, as far as this version of Headwater can read them."""
        latest = await store.versions(connection, "rules", 1)
        personal = await subscription_store.subscriptions(connection)
        fresh = bool(latest) and latest[0].version != self._version
        if fresh:
            past = await store.versions(connection, "rules", _MOST_VERSIONS)
            versions = [(one.applied_at, decode_rules(one.files)) for one in reversed(past)]
            last = versions[-1][1]
            self._applied = HeldRules(tuple(active_rules(versions)), dict(last.people), last.slas, last.problems)
            self._version = latest[0].version
        if fresh or personal != self._personal:
            own = [rule for one in personal if (rule := _personal_rule(one)) is not None]
            self._held = msgspec.structs.replace(self._applied, rules=(*self._applied.rules, *own))
            self._personal = personal
        return self._held


def _personal_rule(one: SubscriptionRow) -> ActiveRule | None:
    """Return the rule of a subscription; None if its view is gone, or shows now what no alert is about."""
    try:
        selector = subscribed_selector(one.selector, one.view)
    except InvalidQuestion:
        return None  # the list of subscriptions says why
    return subscription_rule(one.owner, selector, one.events, one.address, one.since)


async def look(
    database: Database,
    held: Sequence[ActiveRule],
    people: dict[str, tuple[str, ...]],
    window: Window,
    known: AlertHistory,
    *,
    late_since: dt.datetime,
    measured: bool,
    others: Iterable[Trouble],
) -> list[Alert]:
    """Return what the rules tell now that was not told before."""
    return await decide(
        database, held, people, window, known, now=dt.datetime.now(dt.UTC), others=others, measured=measured, late_since=late_since
    )  # fmt: skip


async def find_ended(connection: Connection, members: Sequence[OpenMember]) -> dict[uuid.UUID, dt.datetime]:
    """Return when troubles that lasted have ended: a good run, an update, a check that passes, a verdict that was closed, an event."""
    found: dict[uuid.UUID, dt.datetime] = {}
    for event, query in ending_store.ENDINGS.items():
        some = [one for one in members if one.event == event]
        if some:
            found |= await query(connection, some)
    return found
