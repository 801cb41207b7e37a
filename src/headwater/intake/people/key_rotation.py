"""Replace the key that encrypts secrets, in the database and in HEADWATER_HOME."""

from pathlib import Path

import msgspec

from headwater.errors import InvalidQuestion
from headwater.home import write_private
from headwater.intake.people.audit import Change
from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.people import secrets
from headwater.store.people.secrets import FILE, configured_key, load_key, new_key


class RotatedKey(msgspec.Struct, frozen=True):
    """`secrets`: that were encrypted anew. `former`, `key`: ids of the keys, which reveal neither. `file`: that of the new key, if it has one."""

    secrets: int
    former: str
    key: str
    file: str | None


async def rotate_key(
    database: Database, home: Path, configured: str | None, former: str | None, *, by: Change
) -> RotatedKey:
    """Encrypt all secrets with a new key: `configured`, else a random one that replaces the file in `home`. `former`: the setting before this one.

    All or nothing: the new file is written beside the old one before the database changes, and takes its place after it. If this process dies in
    between, the next call ends what it began. Raises InvalidQuestion without `former` where the key is a setting, SecretKeyDiffers if a secret was
    encrypted with a third key.
    """
    if configured:
        if not former:
            raise InvalidQuestion(
                "HEADWATER_ACCESS__SECRET_KEY holds the new key: set HEADWATER_FORMER_SECRET_KEY to the one before",
                parameter="former",
            )
        old, key, file = configured_key(former), configured_key(configured), None
    else:
        file, fresh = home / FILE, home / f"{FILE}.new"
        await _end_former(database, home)
        old = load_key(None, home)
        key, content = new_key()
        write_private(fresh, content)
    async with database.transaction() as connection:
        await secrets.check(connection, old)
        count = await secrets.rotate(connection, old, key)
        await audit_store.append(connection, by)
    if file is not None:
        (home / f"{FILE}.new").replace(file)
    return RotatedKey(count, old.id, key.id, str(file) if file else None)


async def _end_former(database: Database, home: Path) -> None:
    """Put the file of a call that died in its place if the database has its key, and remove it if not."""
    fresh = home / f"{FILE}.new"
    if not fresh.exists():
        return
    async with database.connection() as connection:
        if await secrets.current(connection) == load_key(None, home, file=fresh.name).id:
            fresh.replace(home / FILE)
        else:
            fresh.unlink()
