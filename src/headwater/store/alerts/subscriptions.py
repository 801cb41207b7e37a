"""Subscriptions: personal rules of alerts."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection

_QUERIES = "alerts/subscriptions"


class SubscriptionRow(msgspec.Struct, frozen=True):
    """One row of `subscriptions`. `view`: the address of the saved view that it is to; None if it is to none, or the view is gone."""

    owner: str
    selector: str
    events: list[str]
    address: str
    since: dt.datetime
    view: str | None = None


async def store(
    connection: Connection, owner: str, selector: str, events: Sequence[str], address: str
) -> SubscriptionRow:
    """Keep one, in place of the one that this person has to the same."""
    query = sqlfile.load(_QUERIES)["store"]
    row = await query.one(connection, owner=owner, selector=selector, events=list(events), address=address)
    return SubscriptionRow(*row)


async def remove(connection: Connection, owner: str, selector: str) -> SubscriptionRow | None:
    """Remove one; None if there is none."""
    row = await sqlfile.load(_QUERIES)["remove"].maybe(connection, owner=owner, selector=selector)
    return SubscriptionRow(*row) if row else None


async def subscriptions(connection: Connection, owner: str | None = None) -> list[SubscriptionRow]:
    """Return those of one person, or of everyone."""
    return [SubscriptionRow(*row) for row in await sqlfile.load(_QUERIES)["all"].many(connection, owner=owner)]
