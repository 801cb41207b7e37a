"""Start the workers, and watch them. This process serves nothing itself, so it loads neither the application nor what checks before it."""

import asyncio
import logging
import multiprocessing
import os
import sys
import tempfile
from multiprocessing.connection import Connection

from headwater import telemetry
from headwater.api.connections import raise_descriptor_limit
from headwater.errors import HeadwaterError
from headwater.settings import Settings


def _check_apart(settings: Settings) -> None:
    """Check in a process that ends, and takes the memory of what it imported along. Where forking is not safe, check in this one."""
    if sys.platform != "linux":
        _check(settings)
        return
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_send_outcome, args=(settings, sending))
    child.start()
    sending.close()
    try:
        outcome = receiving.recv()
    except EOFError:
        # It has said why on stderr.
        sys.exit(1)
    finally:
        child.kill()
        child.join()
    if outcome is not None:
        raise outcome


def _check(settings: Settings) -> None:
    from headwater.api.preparing import check

    asyncio.run(check(settings))


def _send_outcome(settings: Settings, sending: Connection) -> None:
    try:
        _check(settings)
    except HeadwaterError as error:
        sending.send(error)
    else:
        sending.send(None)


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM, then let requests in flight finish. Workers read their settings from the environment.

    Raises NotSecured, DatabaseUnavailable or DatabaseRefused before the server listens.
    """
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    server = settings.server
    os.environ["HEADWATER_DATABASE__URL"] = settings.database.url or ""
    os.environ["HEADWATER_SERVER__HOST"] = server.host
    os.environ["HEADWATER_SERVER__PORT"] = str(server.port)
    telemetry.set_up(logging.getLevelNamesMapping()[server.log_level.upper()])
    _check_apart(settings)
    with tempfile.TemporaryDirectory(prefix="headwater-metrics-") as shared:
        if server.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        Granian(
            "headwater.api.app:from_environment",
            factory=True,
            address=server.host,
            port=server.port,
            interface=Interfaces.ASGI,
            workers=server.workers,
            websockets=False,
            # HTTP/2 is left to a proxy. While Granian waits to see which version a client speaks, no time limit runs.
            http=HTTPModes.http1,
            # Idle connections count; a ConnectionGuard keeps them below this limit.
            backpressure=raise_descriptor_limit(server.max_connections),
            http1_settings=HTTP1Settings(header_read_timeout=int(server.header_seconds * 1000)),
            log_level=LogLevels.warning,
            respawn_failed_workers=False,
            workers_kill_timeout=server.shutdown_seconds,
        ).serve()
