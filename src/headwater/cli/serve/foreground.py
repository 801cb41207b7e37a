"""`headwater serve`. Its process watches the workers for as long as they live, so it loads neither the tree of commands nor what builds it."""

import os
import signal
import socket
import sys
from collections.abc import Callable

from headwater.cli import process
from headwater.cli.extras import need
from headwater.errors import PortInUse
from headwater.home import make_home
from headwater.settings import Settings


def serve() -> None:
    """Serve until a signal, with the embedded database unless another one is set. Raises PortInUse, and what the server raises before it listens."""
    need("server", "`headwater serve`")
    from headwater.api.serving import serve as serve_api

    settings = Settings()
    check_port(settings.server.host, settings.server.port)
    folder = make_home()
    if settings.database.url:
        _serve(settings, settings.database.url, serve_api)
        return
    from headwater.store.embedded import EmbeddedPostgres

    # The server handles SIGTERM once it listens; until then, SIGTERM would end this process and leave the database running.
    signal.signal(signal.SIGTERM, _leave)
    postgres = EmbeddedPostgres(folder / "postgres")
    try:
        _serve(settings, postgres.url, serve_api)
    finally:
        postgres.stop()


def _leave(signum: int, _frame: object) -> None:
    """Exit through every `finally`; a second signal does not interrupt them."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def _serve(settings: Settings, database_url: str, serve_api: Callable[[Settings], None]) -> None:
    settings.database.url = database_url
    process.write(process.ServerProcess(os.getpid(), settings.server.url, database_url))
    try:
        serve_api(settings)
    finally:
        process.remove()


def check_port(host: str, port: int) -> None:
    """Raise PortInUse if another program listens there. Granian would silently share the port with it."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise PortInUse(
                f"port {port} on {host} cannot be listened on ({error.strerror}). Stop the program that listens there, or choose another port: "
                f"`headwater up --port {port + 1}`, or HEADWATER_SERVER__PORT={port + 1}; then set HEADWATER_URL for clients.",
                port=port,
            ) from error
