"""The local stack: `up`, `down`, `status`, and `serve`, which `up` starts. It needs one folder and no Docker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli import output, process, server
from headwater.cli.extras import need
from headwater.cli.serve import foreground
from headwater.home import home, make_home, open_private

if TYPE_CHECKING:
    from pathlib import Path

Port = Annotated[int | None, typer.Option(help="Listen on this port. Default: HEADWATER_SERVER__PORT, else 5000.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def up(
    port: Port = None,
    json: Json = False,
    wait: Annotated[float, typer.Option(help="Wait this many seconds for the server to start.")] = 60.0,
) -> None:
    """Start Headwater: database, API and page in one background process.

    You can run it again at any time: a running server stays up.

    Examples:

      headwater up

      headwater up --port 5001

      HEADWATER_DATABASE__URL=postgresql://… headwater up
    """
    import os
    import subprocess
    import sys
    import time

    from headwater.errors import ServerUnavailable
    from headwater.settings import Settings

    running = process.read()
    began = time.monotonic()
    if running is None:
        need("server", "`headwater up`")
        settings = Settings()
        listen = port or settings.server.port
        foreground.check_port(settings.server.host, listen)
        log = make_home() / "server.log"
        with open(log, "ab", opener=open_private) as sink:
            child = subprocess.Popen(
                [sys.executable, "-m", "headwater", "serve"],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
                env={**os.environ, "HEADWATER_SERVER__PORT": str(listen), "HEADWATER_HOME": str(home())},
            )
        settings.server.port = listen
        url = settings.server.url
        while not _answers(url):
            late = time.monotonic() - began > wait
            if late and child.poll() is None and _rebuilding(log):
                raise ServerUnavailable(
                    f"Headwater is not up yet: it is rebuilding its tables from the event log for this version, and continues. "
                    f"Run `headwater up` again when {log} says ServerReady, or at once with a longer --wait; `headwater server rebuild` is not needed"
                )
            if late or child.poll() is not None:
                child.terminate()
                tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
                raise ServerUnavailable(f"Headwater did not start; the end of {log}:\n{tail}")
            time.sleep(0.05)
    else:
        url = running.url
        while _rebuilding(home() / "server.log") and process.alive(running.pid) and not _answers(url):
            if time.monotonic() - began > wait:
                raise ServerUnavailable(
                    f"Headwater is still rebuilding its tables from the event log; then it serves {url}"
                )
            time.sleep(0.05)
    if json:
        output.raw(server.ask(url, "/api/v2/status"))
        return
    word = "is up already" if running else f"is up ({time.monotonic() - began:.1f} s)"
    output.line(f"Headwater {word}: {url}")


def _rebuilding(log: Path) -> bool:
    """Return whether the last start is rebuilding the tables. If it were ended now, the next start would begin the rebuild again."""
    logged = log.read_bytes() if log.exists() else b""
    return logged.rfind(b"RebuildStarted") > logged.rfind(b"ServerReady")


def _answers(url: str) -> bool:
    from headwater.errors import HeadwaterError

    try:
        server.ask(url, "/readyz")
    except HeadwaterError:
        return False
    return True


def down(json: Json = False) -> None:
    """Stop the server that `up` started, and its database.

    The data stays.
    """
    import os
    import signal
    import time

    from headwater.errors import ServerUnavailable

    running = process.read()
    if running is not None:
        os.kill(running.pid, signal.SIGTERM)
        began = time.monotonic()
        while process.alive(running.pid):
            if time.monotonic() - began > 30:
                raise ServerUnavailable(
                    f"process {running.pid} has not stopped after 30 s; its log is {home() / 'server.log'}"
                )
            time.sleep(0.05)
        process.remove()
    if json:
        output.raw(b'{"stopped": %s}' % (b"true" if running else b"false"))
    else:
        output.line("Headwater is down." if running else "Headwater was not running.")


def status(url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None, json: Json = False) -> None:
    """Show whether the server answers, what it holds, and what waits to be sent to it."""
    answer = read_state(url)
    if json:
        import msgspec

        output.raw(msgspec.json.encode(answer))
    else:
        print_state(answer)


def read_state(url: str | None) -> dict[str, Any]:
    """Return what the server says of itself, with its address and what waits in the local spool."""
    from headwater.client import config
    from headwater.client.backlog import total

    answer, spool = server.get(url, "/api/v2/status"), total(config.destination())
    return {**answer, "url": server.address(url), "spool": {"events": spool.events, "bytes": spool.bytes}}


def print_state(answer: dict[str, Any]) -> None:
    from headwater.client import config

    begun, last = output.moment(answer["started_at"]), output.moment(answer["events"]["last_received_at"])
    database, spool = answer["database"], answer["spool"]
    output.table(
        ("", ""),
        [
            ("server", f"{answer['url']}  (version {answer['version']}, since {begun} UTC)"),
            ("database", f"PostgreSQL {database['version']}, {output.size(database['size_bytes'])}"),
            ("events", f"{answer['events']['total']:,}  (last {last or 'never'})"),
            ("holds", "{datasets:,} datasets, {jobs:,} jobs, {runs:,} runs".format(**answer["counts"])),
            ("spool", f"{spool['events']:,} events wait in {config.destination().spool}"),
        ],
    )


def serve() -> None:
    """Serve in the foreground, as `up` does in the background."""
    foreground.serve()
