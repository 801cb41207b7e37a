"""List the subscriptions of one person."""

import datetime as dt

import msgspec

from headwater.entities.alerts.subscribing import subscribed_selector
from headwater.errors import InvalidQuestion
from headwater.store.alerts import subscriptions as store
from headwater.store.alerts.subscriptions import SubscriptionRow
from headwater.store.database import Database


class Subscription(msgspec.Struct, frozen=True):
    """`selector`: a node id, what rules write (`tag:pii`, `team:web`, `orders+`), or `view:NAME` of a saved view. `since`: it tells only what
    begins later. `problem`: why it tells nothing now: its view is gone, or lists no datasets and jobs any more.
    """

    owner: str
    selector: str
    events: list[str]
    address: str
    since: dt.datetime
    problem: str | None


class SubscriptionList(msgspec.Struct, frozen=True):
    subscriptions: list[Subscription]


async def subscriptions(database: Database, owner: str) -> SubscriptionList:
    """Return them, by selector."""
    async with database.connection() as connection:
        return SubscriptionList([describe_subscription(one) for one in await store.subscriptions(connection, owner)])


def describe_subscription(row: SubscriptionRow) -> Subscription:
    problem = None
    try:
        subscribed_selector(row.selector, row.view)
    except InvalidQuestion as error:
        problem = error.message
    return Subscription(row.owner, row.selector, row.events, row.address, row.since, problem)
