"""The PostgreSQL server itself."""

from headwater.store import sqlfile
from headwater.store.database import Connection


async def about(connection: Connection) -> tuple[str, int]:
    """Its version and the size of our database in bytes."""
    version, size = await sqlfile.load("server")["about"].one(connection)
    return str(version).split()[0], size
