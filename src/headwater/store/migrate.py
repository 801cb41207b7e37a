"""Forward-only migrations: each file of `migrations/` once, in order, under an advisory lock, with its checksum remembered."""

import hashlib
import re
from collections.abc import Iterable
from importlib import metadata, resources
from typing import NamedTuple

from headwater.errors import DatabaseRefused
from headwater.store.database import Connection, Database
from headwater.store.export import views

_VERSION = metadata.version("headwater")
_LOCK = 0x68656164  # "head"


def files() -> list[tuple[str, str]]:
    """Return (name, SQL) of every migration, in order."""
    folder = resources.files("headwater.store").joinpath("migrations")
    return sorted(
        (item.name, item.read_text(encoding="utf-8")) for item in folder.iterdir() if item.name.endswith(".sql")
    )


async def migrate(database: Database) -> list[str]:
    """Bring the schema up to date; return the names of the files that ran."""
    applied = []
    async with database.transaction() as connection:
        await connection.execute("select pg_advisory_xact_lock(%s)", (_LOCK,))
        ran = await _applied(connection)
        if reason := explain_newer_schema([(each.name, each.version) for each in ran.values()]):
            raise DatabaseRefused(reason, migrations=sorted(ran.keys() - {name for name, _ in files()}))
        for name, sql in files():
            checksum = hashlib.sha256(sql.encode()).hexdigest()
            if name in ran:
                if ran[name].checksum != checksum:
                    raise DatabaseRefused(
                        f"migration {name} was edited after it ran; write a new one instead", name=name
                    )
                continue
            await connection.execute(sql)
            await connection.execute(
                "insert into migrations (name, checksum, version) values (%s, %s, %s)", (name, checksum, _VERSION)
            )
            applied.append(name)
        await views.replace(connection)
    return applied


def explain_newer_schema(ran: Iterable[tuple[str, str | None]]) -> str:
    """Return why this Headwater must not use a database, or "" if it may.

    `ran`: the migrations that ran, and the version that ran each (None: not recorded).
    """
    own = {name for name, _ in files()}
    unknown = {name: version for name, version in ran if name not in own}
    if not unknown:
        return ""
    versions = [version for version in unknown.values() if version]
    needed = f"{max(versions, key=_order)} or newer" if versions else "that version"
    return (
        f"The database was migrated by a newer Headwater ({', '.join(sorted(unknown))}), and this is {_VERSION}. "
        f"Install {needed}, or restore a backup from before the upgrade."
    )


def _order(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


class _Applied(NamedTuple):
    name: str
    checksum: str
    version: str | None


async def _applied(connection: Connection) -> dict[str, _Applied]:
    await connection.execute(
        "create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())"
    )
    await connection.execute("alter table migrations add column if not exists version text")
    cursor = await connection.execute("select name, checksum, version from migrations")
    return {row[0]: _Applied(*row) for row in await cursor.fetchall()}
