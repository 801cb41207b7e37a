"""Workers of plans that are connected: each registers again before it expires."""

import datetime as dt
import uuid

import msgspec

from headwater.store import sqlfile
from headwater.store.database import Connection


class PlanWorker(msgspec.Struct, frozen=True):
    """A worker that is connected. `plan`: whose items it takes; null: those of every applied plan."""

    name: str
    plan: uuid.UUID | None
    seen_at: dt.datetime


async def register(
    connection: Connection, name: str, plan: uuid.UUID | None, at: dt.datetime, expires_at: dt.datetime
) -> None:
    """Record that the worker lives, until it expires."""
    await sqlfile.load("plan_workers")["register"].exec(connection, name=name, plan=plan, at=at, expires_at=expires_at)


async def leave(connection: Connection, name: str, at: dt.datetime) -> None:
    """Forget the worker, and those that have expired."""
    await sqlfile.load("plan_workers")["leave"].exec(connection, name=name, at=at)


async def connected(connection: Connection, at: dt.datetime, plan: uuid.UUID | None = None) -> list[PlanWorker]:
    """Return the workers that live, by name; of a plan, those that take its items."""
    return [
        PlanWorker(*row) for row in await sqlfile.load("plan_workers")["connected"].many(connection, at=at, plan=plan)
    ]
