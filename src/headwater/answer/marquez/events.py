"""The run events that came in, as they came in."""

import datetime as dt

import msgspec

from headwater.answer.marquez import shapes
from headwater.model.event import repaired
from headwater.store.database import Database
from headwater.store.events import events as event_store

_FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)
# The year 9999 is the last that Python and JSON's times know.
_LAST = dt.datetime.max.replace(tzinfo=dt.UTC)


async def page(
    database: Database,
    *,
    after: dt.datetime | None = None,
    before: dt.datetime | None = None,
    ascending: bool = False,
    namespace: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> shapes.Events:
    """Run events with `after` ≤ eventTime < `before`, of jobs of a namespace if one is given, and how many there are."""
    async with database.snapshot() as connection:
        bodies, total = await event_store.lineage_events(
            connection,
            after or _FIRST,
            before or _LAST,
            ascending=ascending,
            namespace=namespace,
            limit=limit,
            offset=offset,
        )
    return shapes.Events(events=[msgspec.Raw(repaired(body)) for body in bodies], total_count=total)
