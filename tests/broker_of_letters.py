"""A RabbitMQ of its own with three dead letters, for the tests of the page: prints its address, and ends when its input does."""

import asyncio
import sys

from headwater.intake.queue.amqp import Bad, Queues, bury, connected, declared
from tests.events import encoded, run_event
from tests.fixtures.rabbitmq import own_broker

LETTERS = [
    (
        encoded(run_event("COMPLETE", 1, "import-invoices", [], ["/invoices"])),
        "database_refused",
        "the database was full",
    ),
    (b"{'run': 1}", "invalid_event", "the body is not JSON"),
    (encoded({"eventType": "COMPLETE"}), "invalid_event", "the event has no run and no job"),
]


async def fill(queues: Queues) -> None:
    async with connected(queues, "tests of the page") as connection:
        await declared(connection, queues.dead_letters, {"x-queue-type": "quorum"})
        channel = await connection.channel()
        for number, (body, code, reason) in enumerate(LETTERS):
            await bury(channel, queues.dead_letters, [Bad(body, code, reason, f"m{number}", 0)])


def main() -> None:
    with own_broker() as broker:
        broker.start()
        asyncio.run(fill(Queues(broker.url)))
        print(broker.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
