"""Write down who changed what. Called by the server for every change that is not an event, and by commands that change things."""

import getpass
import os

from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people.audit import Change

__all__ = ["Change", "append", "by_command", "operator"]


async def append(database: Database, change: Change) -> None:
    """Add one change in a transaction of its own."""
    async with database.connection() as connection:
        await audit_store.append(connection, change)


def by_command(command: str, action: str, target: str | None, **detail: object) -> Change:
    """What a command on this machine changes, for the transaction that changes it: `by_command("keys create", "create_key", "ci")`."""
    return Change(operator(), "admin", "CLI", f"headwater {command}", action, target, None, detail)


def operator() -> str:
    """Who sits at this machine, as `cli:ada`."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user often has a number and no name
        return f"cli:uid {os.getuid()}"
