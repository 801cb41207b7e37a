"""Acknowledge and mute alerts, with an audit row in the same transaction."""

import datetime as dt
import uuid

from headwater.intake.people.audit import Change
from headwater.store.alerts import alerts as store
from headwater.store.database import Database
from headwater.store.people import audit as audit_store


async def acknowledge(database: Database, id_: uuid.UUID, note: str, *, by: Change) -> None:
    """Note that a person looks after an alert: escalations stop. The first person stays."""
    async with database.transaction() as connection:
        await store.acknowledge(connection, id_, by.actor, note)
        await audit_store.append(connection, by)


async def mute(database: Database, id_: uuid.UUID, until: dt.datetime | None, *, by: Change) -> None:
    """Send nothing about an alert until a time; None: send again."""
    async with database.transaction() as connection:
        await store.mute(connection, id_, until, by.actor)
        await audit_store.append(connection, by)
