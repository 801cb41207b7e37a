"""Saved views, as a reader sees them: everyone's and their own."""

import datetime as dt

import msgspec

from headwater.store.database import Database
from headwater.store.people import views as store
from headwater.store.people.views import ViewRow


class SavedView(msgspec.Struct, frozen=True):
    """A page under a name. `address`: path and query below the page's base. `shared`: everyone sees it."""

    name: str
    address: str
    shared: bool
    author: str
    at: dt.datetime


class SavedViews(msgspec.Struct, frozen=True):
    views: list[SavedView]


async def views(database: Database, owner: str) -> SavedViews:
    """List the views of everyone and of this person, by name; an empty owner has none of their own."""
    async with database.connection() as connection:
        return SavedViews([describe_view(row) for row in await store.of_owner(connection, owner)])


def describe_view(row: ViewRow) -> SavedView:
    """Describe a row as readers see it."""
    return SavedView(row.name, row.address, row.owner == "", row.author, row.at)
