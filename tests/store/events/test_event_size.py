"""The cost of an event grows with its size and no faster, for any statistics that PostgreSQL has of the tables.

A table that was analyzed while a long transaction wrote to it is believed to hold nothing. A plan that is kept was made for the tables of its time.
Blocks are counted, for rows that an index passes over are counted nowhere.
"""

from typing import Any

import psycopg
import pytest
from tests.events import encoded
from tests.fixtures.postgres import empty
from tests.hostile import whole

from headwater.intake.events.accept import Intake
from headwater.model.names import DatasetName
from headwater.model.version import dataset_id
from headwater.store.database import Database
from headwater.store.embedded import EmbeddedPostgres
from headwater.store.events.projections import TABLES
from headwater.store.history import facets

OUT = dataset_id(DatasetName("file", "/out"))


def event(shape: str, size: int, day: int) -> bytes:
    made = whole(1)
    made["eventTime"] = f"2026-01-{day:02}T00:00:00Z"
    if shape == "facets":
        made["outputs"][0]["facets"] |= {f"facet {number}": {"a": number} for number in range(size)}
    else:
        made["inputs"] += [{"namespace": "file", "name": f"/in/{number}"} for number in range(size)]
    return encoded(made)


@pytest.mark.parametrize("shape", ["facets", "inputs"])
@pytest.mark.parametrize("belief", ["nothing is there", "as small as before"])
def test_blocks_grow_with_the_event(
    postgres: EmbeddedPostgres, database: Database, run: Any, shape: str, belief: str
) -> None:
    def blocks(size: int, day: int) -> int:
        """Blocks that an event, the same again a day later, and a reader of all its facets look at."""

        async def cost() -> int:
            async with Database(postgres.url, pool_size=1) as one:
                await empty(one)
                if belief == "nothing is there":
                    believe_nothing(postgres)
                intake = Intake(one)
                if belief == "as small as before":
                    for number in range(4):
                        await intake.accept(encoded(whole(number)))
                        await told(one)
                        if not number:
                            analyze(postgres)
                before = await looked_at(one)
                for later in range(2):
                    await intake.accept(event(shape, size, day + later))
                    if belief == "nothing is there":
                        believe_nothing(postgres)
                assert len(await told(one)) >= (size if shape == "facets" else 1)
                return await looked_at(one) - before

        return int(run(cost()))

    few = blocks(500, 1)
    many = blocks(4000, 10)
    # Eight times as many, and a little for deeper indexes; each against each would be 64 times that part.
    assert many < 10 * few, (few, many)


def believe_nothing(postgres: EmbeddedPostgres) -> None:
    """Set the statistics that `analyze` leaves of tables whose rows are not committed yet."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(
            "update pg_class set reltuples = 0, relpages = greatest(relpages, 1) where oid = any(%s::regclass[])",
            (list(TABLES),),
        )


def analyze(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"analyze {', '.join(TABLES)}")


async def told(database: Database) -> dict[str, bytes]:
    async with database.connection() as connection:
        return (await facets.of_owners(connection, [OUT]))[OUT]


async def looked_at(database: Database) -> int:
    """Blocks of tables and indexes that the pool's one connection has looked at."""
    async with database.connection() as connection:
        await connection.execute("select pg_stat_force_next_flush()")
        cursor = await connection.execute(
            "select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint "
            "from pg_statio_user_tables where relname = any(%s)",
            (list(TABLES),),
        )
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])
