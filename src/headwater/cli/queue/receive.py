"""`headwater events receive`: take events from RabbitMQ into the database."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import output
from headwater.cli.extras import need
from headwater.cli.serve.database import on_url

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from headwater.intake.queue.amqp import Queues
    from headwater.intake.queue.receiver import Limits, Totals
    from headwater.settings import AmqpSettings
    from headwater.store.database import Database

Url = Annotated[
    str | None,
    typer.Option(
        help="Connect to this broker, amqp://user:password@host:port/vhost. Default: HEADWATER_AMQP__URL, which process lists do not show."
    ),
]
Letters = Annotated[
    str | None,
    typer.Option("--dead-letters", help="Use this queue for dead letters. Default: HEADWATER_AMQP__DEAD_LETTERS."),
]


def receive(
    url: Url = None,
    queue: Annotated[str | None, typer.Option(help="Receive from this queue. Default: HEADWATER_AMQP__QUEUE.")] = None,
    dead_letters: Letters = None,
    prefetch: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Hold at most this many unacknowledged messages.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Begin a transaction as soon as this many events wait.")
    ] = None,
    wait_ms: Annotated[int | None, typer.Option(min=0, help="Let the first event wait this long for others.")] = None,
    until_empty: Annotated[
        bool,
        typer.Option(
            "--until-empty", "--once", help="Exit when the queue is empty; fail if the broker does not answer."
        ),
    ] = False,
    metrics_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Serve GET /metrics on this port.")] = None,
    metrics_host: Annotated[str, typer.Option(help="Serve metrics on this address.")] = "127.0.0.1",
    json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Receive events from a RabbitMQ queue.

    You can run several processes. Stop them with SIGTERM or Ctrl-C.

    A message is acknowledged after its events are committed. What can never be accepted goes to the dead letters with the reason.

    Examples:

      headwater events receive

      headwater events receive --url amqp://guest:guest@rabbit:5672/ --metrics-port 9109

      headwater events receive --until-empty --json
    """
    need("server", "`headwater events receive`")
    need("amqp", "`headwater events receive`")
    from headwater import telemetry
    from headwater.intake.queue.receiver import Limits

    settings = amqp_settings()
    limits = Limits(
        prefetch=prefetch or settings.prefetch,
        events=batch or settings.batch,
        wait_seconds=(settings.wait_ms if wait_ms is None else wait_ms) / 1000,
    )
    telemetry.set_up()
    for library in (
        "aio_pika",
        "aiormq",
    ):  # it logs every attempt; our log has one line, with the time of the next attempt
        logging.getLogger(library).setLevel(logging.CRITICAL)
    queues = chosen(settings, url, queue, dead_letters)
    stop_metrics = _metrics(metrics_host, metrics_port)
    try:
        totals = on_url("receive", lambda address: _receive(address, queues, limits, until_empty))
    finally:
        stop_metrics()
    if json:
        import msgspec

        output.raw(msgspec.json.encode(totals))
    else:
        output.line(
            f"{totals.messages:,} messages: {totals.accepted:,} events accepted, {totals.duplicate:,} already known, "
            f"{totals.dead_lettered:,} to the dead letters"
        )


def amqp_settings() -> AmqpSettings:
    from headwater.settings import Settings

    return Settings().amqp


def chosen(settings: AmqpSettings, url: str | None, queue: str | None, dead_letters: str | None) -> Queues:
    """Return the options, with the settings as defaults."""
    from headwater.intake.queue.amqp import Queues

    return Queues(url or settings.broker, queue or settings.queue, dead_letters or settings.dead_letters)


def _metrics(host: str, port: int | None) -> Callable[[], None]:
    if port is None:
        return lambda: None
    from headwater import telemetry
    from headwater.api.receiver_metrics import ReceiverMetrics

    metrics = ReceiverMetrics()
    deaf = telemetry.listen(metrics.measured)
    stop = metrics.serve(host, port)

    def end() -> None:
        deaf()
        stop()

    return end


async def _receive(url: str, queues: Queues, limits: Limits, until_empty: bool) -> Totals:
    import asyncio
    import signal

    from headwater.intake.events.isolation import IsolatedIntake
    from headwater.intake.events.tolerant import TolerantIntake
    from headwater.intake.queue import reconciliation
    from headwater.intake.queue.receiver import Receiver, Totals
    from headwater.settings import Settings

    settings = Settings()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stopped.set)
    database = await _opened(url, settings.database.statement_timeout_seconds, stopped, patient=not until_empty)
    if database is None:
        return Totals()
    following = asyncio.create_task(reconciliation.follow(database))
    receiver = Receiver(queues, TolerantIntake(database), IsolatedIntake(url), limits, stopped)
    try:
        return await receiver.run(until_empty=until_empty)
    finally:
        following.cancel()
        await asyncio.wait([following])
        await database.close()


async def _opened(url: str, timeout: float, stopped: asyncio.Event, *, patient: bool) -> Database | None:
    """Return the migrated database; None if stopped while it is unavailable. Raises DatabaseUnavailable if not `patient`."""
    import asyncio

    from headwater import telemetry
    from headwater.client.retries import Backoff
    from headwater.errors import DatabaseUnavailable
    from headwater.store.database import Database
    from headwater.store.migrate import migrate

    backoff = Backoff()
    while not stopped.is_set():
        database = Database(url, pool_size=4, statement_timeout_seconds=timeout)
        try:
            await database.open()
            await migrate(database)
        except DatabaseUnavailable as error:
            await database.close()
            if not patient:
                raise
            wait = backoff.seconds()
            telemetry.say(telemetry.DatabaseAway(error.message[:300], round(wait, 3)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), wait)
        else:
            return database
    return None
