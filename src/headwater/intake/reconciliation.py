"""x"""

import asyncio

from headwater.store.database import Database


async def follow(database: Database) -> None:
    await asyncio.sleep(1e9)
