"""A Headwater server of its own for a case: a new folder, an embedded PostgreSQL, one worker; gone with everything in it afterwards."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec
import psutil
import psycopg
from load import Outcome, drive, post

PROGRAM = [sys.executable, "-m", "headwater"]
_PATIENCE = 300.0


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    database_url: str
    env: dict[str, str]

    def memory(self) -> int:
        """Bytes of the server and what it started, PostgreSQL apart, each resident page once."""
        server = psutil.Process(self.pid)
        return resident([server, *server.children(recursive=True)])

    def batches(self, bodies: list[bytes], size: int = 500, connections: int = 2) -> Outcome:
        """Send the events through /api/v1/lineage/batch; every one must be kept."""
        requests = [
            post("/api/v1/lineage/batch", b"[" + b",".join(bodies[at : at + size]) + b"]")
            for at in range(0, len(bodies), size)
        ]
        outcome = drive(self.port, requests, connections, _PATIENCE)
        if outcome.cut:
            sys.exit(f"{len(outcome.milliseconds)} of {len(requests)} batches were answered in {_PATIENCE:.0f} s")
        told = msgspec.json.decode(outcome.last)
        if outcome.failed or told["summary"]["failed"]:
            sys.exit(f"the server refused events: {outcome.statuses} {told.get('failed_events', told)!r:.500}")
        return outcome

    def settle(self) -> None:
        """Vacuum and analyze, as autovacuum does within a minute of a load: reusable space, and statistics for the planner."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")


def resident(processes: list[psutil.Process]) -> int:
    """Bytes of these processes, PostgreSQL's apart: memory of their own with what they share divided, and of each file what the process with most
    of it has, so that no page of a library counts twice.
    """
    own, files = 0, dict[str, int]()
    for process in processes:
        try:
            if process.name().startswith("postgres"):
                continue
            totals = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            lines = Path(f"/proc/{process.pid}/smaps").read_text().splitlines()
        except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            continue
        own += sum(int(line.split()[1]) for line in totals if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
        mine, file = dict[str, int](), ""
        for line in lines:
            first, *rest = line.split(maxsplit=5)
            if not first.endswith(":"):
                file = rest[4] if len(rest) == 5 and rest[4].startswith("/") else ""
            elif file and first in ("Rss:", "Anonymous:"):
                mine[file] = mine.get(file, 0) + int(rest[0]) * (1 if first == "Rss:" else -1)
        for name, pages in mine.items():
            files[name] = max(files.get(name, 0), pages)
    return (own + sum(files.values())) * 1024


@contextmanager
def fresh(**settings: str) -> Iterator[Server]:
    # Told to stop, a case takes its server along.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="headwater-case-") as home, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_"))}
        env = {
            **kept,
            "HEADWATER_HOME": f"{home}/headwater",
            "HEADWATER_SPOOL": f"{home}/spool",
            "HEADWATER_SERVER__WORKERS": "1",
            **settings,
        }
        subprocess.run([*PROGRAM, "up", "--port", str(port)], check=True, env=env, stdout=subprocess.DEVNULL)
        try:
            running = msgspec.json.decode((Path(home) / "headwater/server.json").read_bytes())
            yield Server(port, running["pid"], running["database_url"], env)
        finally:
            # A server that still works on a question that was given up stops after it.
            for _ in range(4):
                if not subprocess.run([*PROGRAM, "down"], check=False, env=env, stdout=subprocess.DEVNULL).returncode:
                    break


class Running(Protocol):
    def memory(self) -> int: ...


class Watch:
    """The most memory that a server had while this was open, looked at four times a second."""

    def __init__(self, server: Running) -> None:
        self.server, self.peak, self._over = server, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.25):
            self.peak = max(self.peak, self.server.memory())

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
