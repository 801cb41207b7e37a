"""Subscribe to objects and views, and leave again, each with its row in the audit log."""

from collections.abc import Sequence

from headwater.entities.alerts.subscribing import check_address, check_events, check_selector
from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.people.audit import Change
from headwater.store.alerts import subscriptions as store
from headwater.store.alerts.subscriptions import SubscriptionRow
from headwater.store.database import Database
from headwater.store.people import audit as audit_store

MOST = 500
"""Subscriptions of one person."""


async def subscribe(
    database: Database, *, owner: str, selector: str, events: Sequence[str], address: str, by: Change
) -> SubscriptionRow:
    """Subscribe, or change a subscription: it tells only what begins from now on.

    Raises InvalidQuestion for a selector, an event or an address that is none, or when the person has too many.
    """
    text, when, address = str(check_selector(selector)), check_events(events), check_address(address)
    async with database.transaction() as connection:
        held = await store.subscriptions(connection, owner)
        if len(held) >= MOST and all(one.selector != text for one in held):
            raise InvalidQuestion(f"you have {MOST} subscriptions; remove one first", parameter="selector")
        await audit_store.append(connection, by)
        return await store.store(connection, owner, text, when, address)


async def unsubscribe(database: Database, *, owner: str, selector: str, by: Change) -> SubscriptionRow:
    """Remove a subscription. Raises NotFound."""
    text = str(check_selector(selector))
    async with database.transaction() as connection:
        removed = await store.remove(connection, owner, text)
        if removed is None:
            raise NotFound(f"{owner} has no subscription to {text[:100]!r}", selector=text[:100])
        await audit_store.append(connection, by)
        return removed
