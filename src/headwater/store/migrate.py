"""Forward-only migrations: each file of `migrations/` once, in order, under an advisory lock, with its checksum remembered."""

import hashlib
from importlib import resources

from headwater.errors import DatabaseRefused
from headwater.store.database import Connection, Database

_LOCK = 0x68656164  # "head"


def files() -> list[tuple[str, str]]:
    """(name, SQL) of every migration, in order."""
    folder = resources.files("headwater.store").joinpath("migrations")
    return sorted(
        (item.name, item.read_text(encoding="utf-8")) for item in folder.iterdir() if item.name.endswith(".sql")
    )


async def migrate(database: Database) -> list[str]:
    """Bring the schema up to date; the names of the files that ran.

    Raises DatabaseRefused when a file that has run was changed since: an applied migration is never edited, a new one follows it.
    """
    applied = []
    async with database.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        known = await _known(connection)
        for name, sql in files():
            checksum = hashlib.sha256(sql.encode()).hexdigest()
            if name in known:
                if known[name] != checksum:
                    raise DatabaseRefused(
                        f"migration {name} was edited after it ran; write a new one instead", name=name
                    )
                continue
            await connection.execute(sql)
            await connection.execute("insert into migrations (name, checksum) values (%s, %s)", (name, checksum))
            applied.append(name)
    return applied


async def _known(connection: Connection) -> dict[str, str]:
    await connection.execute(
        "create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())"
    )
    cursor = await connection.execute("select name, checksum from migrations")
    return dict(await cursor.fetchall())
