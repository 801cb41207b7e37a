"""List the subscriptions of one person."""

import datetime as dt

import msgspec

from headwater.store.alerts import subscriptions as store
from headwater.store.alerts.subscriptions import SubscriptionRow
from headwater.store.database import Database


class Subscription(msgspec.Struct, frozen=True):
    """`selector`: a node id, or what rules write: `tag:pii`, `team:web`, `orders+`. `since`: it tells only what begins later."""

    owner: str
    selector: str
    events: list[str]
    address: str
    since: dt.datetime


class SubscriptionList(msgspec.Struct, frozen=True):
    subscriptions: list[Subscription]


async def subscriptions(database: Database, owner: str) -> SubscriptionList:
    """Return them, by selector."""
    async with database.connection() as connection:
        return SubscriptionList([describe_subscription(one) for one in await store.subscriptions(connection, owner)])


def describe_subscription(row: SubscriptionRow) -> Subscription:
    return Subscription(row.owner, row.selector, row.events, row.address, row.since)
