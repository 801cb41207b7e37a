"""Policies that begin to be broken."""

from headwater.model.troubles import Trouble, Window
from headwater.store.database import Connection
from headwater.store.privacy import violations as store


async def policy_broken(connection: Connection, window: Window) -> list[Trouble]:
    """Return the violations that a look found first in the window."""
    return [
        Trouble(
            "policy_broken", one.subject, f"{one.label}.{one.field}" if one.field else one.label, str(one.id), one.since, one.text,
            "headwater privacy policies", one.dataset, one.until,
        )
        for one in await store.began(connection, window.since, window.until)
    ]  # fmt: skip
