"""Subscribe to objects and views, and leave again, each with its row in the audit log."""

from collections.abc import Sequence

import msgspec

from headwater.entities.alerts.subscribing import check_address, check_events, check_selector, subscribed_selector
from headwater.entities.alerts.viewing import PREFIX
from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.people.audit import Change
from headwater.store.alerts import subscriptions as store
from headwater.store.alerts.subscriptions import SubscriptionRow
from headwater.store.database import Connection, Database
from headwater.store.people import audit as audit_store
from headwater.store.people import views as view_store

MOST = 500
"""Subscriptions of one person."""


async def subscribe(
    database: Database, *, owner: str, selector: str, events: Sequence[str], address: str, by: Change
) -> SubscriptionRow:
    """Subscribe, or change a subscription: it tells only what begins from now on.

    Raises InvalidQuestion for a selector, an event or an address that is none, or when the person has too many.
    """
    when, address = check_events(events), check_address(address)
    async with database.transaction() as connection:
        view = await _view(connection, owner, selector)
        text = str(subscribed_selector(selector, view))
        held = await store.subscriptions(connection, owner)
        if len(held) >= MOST and all(one.selector != text for one in held):
            raise InvalidQuestion(f"you have {MOST} subscriptions; remove one first", parameter="selector")
        await audit_store.append(connection, by)
        return msgspec.structs.replace(await store.store(connection, owner, text, when, address), view=view)


async def unsubscribe(database: Database, *, owner: str, selector: str, by: Change) -> SubscriptionRow:
    """Remove a subscription. Raises NotFound."""
    text = selector.strip()
    text = text if text.startswith(PREFIX) else str(check_selector(text))
    async with database.transaction() as connection:
        removed = await store.remove(connection, owner, text)
        if removed is None:
            raise NotFound(f"{owner} has no subscription to {text[:100]!r}", selector=text[:100])
        await audit_store.append(connection, by)
        return removed


async def _view(connection: Connection, owner: str, selector: str) -> str | None:
    """Return the address of the view that a selector names, the person's own before everyone's."""
    name = selector.strip().removeprefix(PREFIX)
    rows = await view_store.of_owner(connection, owner) if selector.strip().startswith(PREFIX) else []
    found = sorted((row for row in rows if row.name == name), key=lambda row: row.owner)
    return found[-1].address if found else None
