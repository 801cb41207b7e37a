"""Append to the audit log: by the server for every change that is not an event, and by commands that change the database."""

import getpass
import os

from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people.audit import Change

__all__ = ["Change", "append", "by_command", "operator"]


async def append(database: Database, change: Change) -> None:
    """Append one change in its own transaction."""
    async with database.connection() as connection:
        await audit_store.append(connection, change)


def by_command(command: str, action: str, target: str | None, **detail: object) -> Change:
    """The audit row of a command on this machine, to be written with its change: `by_command("keys create", "create_key", "ci")`."""
    return Change(operator(), "admin", "CLI", f"headwater {command}", action, target, None, detail)


def operator() -> str:
    """The user of this machine, such as `cli:ada`."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user often has an id and no name
        return f"cli:uid {os.getuid()}"
