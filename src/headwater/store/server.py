"""The PostgreSQL server itself."""

from headwater.store import sqlfile
from headwater.store.database import Connection


async def about(connection: Connection) -> tuple[str, int]:
    """Return PostgreSQL's version and the size of our database in bytes."""
    version, size = await sqlfile.load("server")["about"].one(connection)
    return str(version).split()[0], size


async def log_size(connection: Connection) -> tuple[int, int]:
    """The event log's bytes on disk, and about how many events it holds (PostgreSQL's estimate: no table is read)."""
    size, events = await sqlfile.load("server")["log_size"].one(connection)
    return size, events


async def migrations(connection: Connection) -> dict[str, str | None]:
    """The migrations that have run, with the version of Headwater that ran each; None: not recorded."""
    return dict(await sqlfile.load("server")["migrations"].many(connection))


async def try_write(connection: Connection) -> None:
    """Write a few pages that are gone with the transaction. Raises what a write of events would raise, as on a full disk."""
    await connection.execute(
        "create temporary table tried on commit drop as select n, repeat('x', 100) as filler from generate_series(1, 1000) n"
    )
