"""Events out of RabbitMQ into PostgreSQL, beside the same events in batches without a broker.

    python benchmarks/cases/delivery/receive.py [--events 20000] [--each 500] [--rounds 3] [--url amqp://…]

Each round empties the tables twice: once the events go in as `Intake.accept_each` takes them, two batches at once, as two connections to the server
would; once they wait in a queue, in messages of `--each` events, and one receiver drains it. The two take turns to be first. Without `--url` a
broker of its own is started (Debian's rabbitmq-server must be installed).
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE.parents[3])]

import aio_pika  # noqa: E402
from catalogue import Catalogue, encoded  # noqa: E402
from table import Row, said  # noqa: E402
from tests.fixtures.postgres import empty  # noqa: E402
from tests.fixtures.rabbitmq import own_broker  # noqa: E402

from headwater.intake.events.accept import Intake  # noqa: E402
from headwater.intake.events.isolation import IsolatedIntake  # noqa: E402
from headwater.intake.events.tolerant import TolerantIntake  # noqa: E402
from headwater.intake.queue.amqp import QUEUE_ARGUMENTS, Queues  # noqa: E402
from headwater.intake.queue.receiver import Limits, Receiver  # noqa: E402
from headwater.store.database import Database  # noqa: E402
from headwater.store.embedded import EmbeddedPostgres  # noqa: E402
from headwater.store.migrate import migrate  # noqa: E402


async def direct(database: Database, bodies: list[bytes], each: int) -> float:
    """Events a second, two batches at once."""
    intake, batches = Intake(database), [bodies[at : at + each] for at in range(0, len(bodies), each)]

    async def connection() -> None:
        while batches:
            accepted = await intake.accept_each(batches.pop(0))
            assert not accepted.refused

    began = time.perf_counter()
    await asyncio.gather(connection(), connection())
    return len(bodies) / (time.perf_counter() - began)


async def publish(queues: Queues, bodies: list[bytes], each: int) -> float:
    """Confirmed by the broker; events a second."""
    began = time.perf_counter()
    async with await aio_pika.connect(queues.url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(queues.events, durable=True, arguments=QUEUE_ARGUMENTS)
        for at in range(0, len(bodies), each):
            few = bodies[at : at + each]
            body = few[0] if each == 1 else b"[" + b",".join(few) + b"]"
            message = aio_pika.Message(
                body, delivery_mode=2, content_type="application/json", message_id=str(uuid.uuid4())
            )
            await channel.default_exchange.publish(message, queues.events)
    return len(bodies) / (time.perf_counter() - began)


async def drained(queues: Queues, database: Database, limits: Limits, events: int) -> float:
    """Events a second from the start of a receiver to its last acknowledgement."""
    receiver = Receiver(queues, TolerantIntake(database), IsolatedIntake(database.url), limits)
    began = time.perf_counter()
    running = asyncio.create_task(receiver.run(until_empty=True))
    while receiver.totals.accepted < events and not running.done():
        await asyncio.sleep(0.005)
    seconds = time.perf_counter() - began
    totals = await running
    assert (totals.accepted, totals.dead_lettered) == (events, 0), totals
    return events / seconds


@contextlib.contextmanager
def broker(url: str | None) -> Iterator[str]:
    if url:
        yield url
    else:
        with own_broker() as mine:
            yield mine.start().url


async def measure(database_url: str, url: str, arguments: argparse.Namespace) -> list[Row]:
    rates: dict[str, list[float]] = {"direct": [], "drained": [], "published": []}
    limits = Limits(prefetch=arguments.prefetch, events=arguments.batch)
    async with Database(database_url, pool_size=4) as database:
        await migrate(database)
        for turn in range(arguments.rounds):
            bodies = encoded(list(Catalogue(400, seed=turn).events(arguments.events)))
            queues = Queues(url, f"bench.{uuid.uuid4().hex}", f"bench.dead.{uuid.uuid4().hex}")
            rates["published"].append(await publish(queues, bodies, arguments.each))

            async def straight(bodies: list[bytes] = bodies) -> None:
                await empty(database)
                rates["direct"].append(await direct(database, bodies, max(arguments.each, 500)))

            async def through(bodies: list[bytes] = bodies, queues: Queues = queues) -> None:
                await empty(database)
                rates["drained"].append(await drained(queues, database, limits, len(bodies)))

            for side in (straight, through) if turn % 2 else (through, straight):
                await side()
    plain, received, published = (statistics.median(rates[name]) for name in ("direct", "drained", "published"))
    words = f"messages of {arguments.each}"
    return [
        Row("batches, no broker, 2 at once", plain, "events/s", note="what is compared with"),
        Row(f"receive, {words}", received, "events/s", plain, 0.8 * plain, "more", "target 80 % of the batches"),
        Row(f"publish, {words}", published, "events/s", note="confirmed, one message at a time"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=500, help="events in a message")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prefetch", type=int, default=250)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--url", help="a broker; else one is started")
    parser.add_argument("--json", type=Path, default=HERE.parents[3] / ".tools/cases/delivery/receive.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder, broker(arguments.url) as url:
        postgres = EmbeddedPostgres(Path(folder) / "postgres")
        try:
            rows = asyncio.run(measure(postgres.url, url, arguments))
        finally:
            postgres.stop()
    said(rows, arguments.json)


if __name__ == "__main__":
    main()
