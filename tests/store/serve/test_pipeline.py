"""Large batches: more than a socket holds is sent while the server answers, and neither waits for the other for ever.

A hang fails after `PATIENCE`; nothing else is said of time.
"""

import asyncio
import json
from typing import Any

import pytest
from tests.events import dataset, encoded, facet, run_event, schema

from headwater.intake.events.accept import Intake
from headwater.store.database import Database

MB = 1024 * 1024
PATIENCE = 60.0


def batch(size: int, events: int) -> bytes:
    """Return that many events of as many jobs and datasets, together of that many bytes."""
    each = size // events - 700
    told = [
        run_event(
            "COMPLETE",
            number,
            f"job{number}",
            ["/in"],
            [dataset(f"/out{number}", documentation=facet(description=f"{number} " + "x" * each), **schema("a"))],
        )
        for number in range(events)
    ]
    return json.dumps(told).encode()


async def bounded(database: Database, body: bytes) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await Intake(database).accept_batch(body)


async def counted(database: Database) -> int:
    async with database.connection() as connection:
        return (await (await connection.execute("select count(*) from events")).fetchone())[0]  # type: ignore[index]


@pytest.mark.parametrize(("size", "events"), [(1, 1000), (4, 1000), (8, 2000)])
def test_a_batch_of_megabytes_is_written(database: Database, run: Any, size: int, events: int) -> None:
    body = batch(size * MB, events)
    assert size * MB * 0.8 < len(body) < size * MB * 1.2
    accepted = run(bounded(database, body))
    assert (len(accepted.receipts), accepted.refused) == (events, [])
    assert run(counted(database)) == events


def test_one_event_of_twenty_megabytes_is_written(database: Database, run: Any) -> None:
    """Its size is in one facet, and again in the log: forty megabytes go over the wire."""
    body = encoded(run_event("COMPLETE", 1, "job", [], [dataset("/out", big=facet(text="x" * (20 * MB)))]))

    async def write() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await Intake(database).accept(body)

    assert run(write()).duplicate is False
    assert run(counted(database)) == 1
