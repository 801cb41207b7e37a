"""Workers of plans say that they live, and that they end."""

import datetime as dt
import uuid

from headwater.store import plan_workers as store
from headwater.store.database import Database


async def register(database: Database, name: str, plan: uuid.UUID | None, expires_seconds: float) -> None:
    """Record that a worker is connected; it expires unless it registers again. 0 seconds: it ends now."""
    async with database.transaction() as connection:
        now = dt.datetime.now(dt.UTC)
        if expires_seconds > 0:
            await store.register(connection, name, plan, now, now + dt.timedelta(seconds=expires_seconds))
        else:
            await store.leave(connection, name, now)
