"""The server refuses events that it cannot store now before any acknowledgement (503 with Retry-After, 408), and recovers when it can
again."""

import os
import pwd
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.events import dataset, encoded, facet, run_event
from tests.fixtures.processes import Process

from headwater.store.embedded import EmbeddedPostgres

LINEAGE = "/api/v1/lineage"


def event(number: int, size: int = 0) -> bytes:
    # Random text, or PostgreSQL would pack it.
    facets = {"big": facet(text=os.urandom(size // 2).hex())} if size else {}
    return encoded(run_event("START", number, "job", [], [dataset("/out", **facets)]))


def refused(told: tuple[int, bytes, dict[str, str]]) -> None:
    status, body, headers = told
    assert (status, headers.get("retry-after")) == (503, "1"), (status, body)
    for inside in (b"Traceback", b"psycopg", b"insert into", b"PostgreSQL", b"/tmp/"):
        assert inside not in body


def until_taken(server: Process, body: bytes) -> None:
    """It mends itself: nothing is started again, the same request is sent until it is taken."""
    for _ in range(100):
        told = server.ask("POST", LINEAGE, body)
        if told[0] == 201:
            return
        refused(told)
        time.sleep(0.2)
    raise AssertionError("it did not mend itself")


def asked(postgres: EmbeddedPostgres, question: str, database: str = "postgres") -> Any:
    with psycopg.connect(postgres.url, autocommit=True, dbname=database) as asking:
        row = asking.execute(question).fetchone()  # type: ignore[arg-type]
        assert row is not None
        return row[0]


def until(postgres: EmbeddedPostgres, question: str) -> None:
    for _ in range(200):
        if asked(postgres, question):
            return
        time.sleep(0.05)
    raise AssertionError(question)


# -- a full disk --


@pytest.fixture
def disk(postgres: EmbeddedPostgres) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """A database whose tables are on a file system of 48 MB, what fills it, and what makes room.

    Where this process may not mount one, PostgreSQL is made to say what it says when a disk is full.
    """
    name, folder = "small_disk", Path(postgres._server.pgdata).parent / "disk"  # where PostgreSQL's user may go
    folder.mkdir()
    mounted = mount(folder)
    with psycopg.connect(postgres.url, autocommit=True) as asking:
        if mounted:
            owner = pwd.getpwnam("embedded_postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            asking.execute(f"create tablespace {name} location '{folder}'")
        asking.execute(f"create database {name}" + (f" tablespace {name}" if mounted else ""))
    filler = folder / "filler"

    def fill() -> None:
        if mounted:
            with filler.open("wb") as sink:
                try:
                    while sink.write(b"\0" * 65536):
                        sink.flush()
                except OSError:
                    return
        with psycopg.connect(postgres.url, autocommit=True, dbname=name) as asking:
            asking.execute(
                "create function full_disk() returns trigger language plpgsql as $$ begin "
                "raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$"
            )
            asking.execute("create trigger full_disk before insert on events for each row execute function full_disk()")

    def free() -> None:
        if mounted:
            filler.unlink()
            return
        with psycopg.connect(postgres.url, autocommit=True, dbname=name) as asking:
            asking.execute("drop function full_disk cascade")

    yield postgres.url.replace("/postgres?", f"/{name}?"), fill, free
    with psycopg.connect(postgres.url, autocommit=True) as asking:
        asking.execute(f"drop database {name} with (force)")
        if mounted:
            asking.execute(f"drop tablespace {name}")
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def mount(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    return done.returncode == 0


def test_a_full_disk(disk: Any, postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    url, fill, free = disk
    (tmp_path / "server").mkdir()
    server = Process(tmp_path / "server", url, {}).ready()
    try:
        assert server.ask("POST", LINEAGE, event(0))[0] == 201
        fill()
        taken = 1
        for number in range(1, 200):  # what is left inside the tables' files
            told = server.ask("POST", LINEAGE, event(number, 200_000))
            if told[0] != 201:
                refused(told)
                break
            taken += 1
        else:
            raise AssertionError("the disk was not full")
        assert asked(postgres, "select count(*) from events", "small_disk") == taken
        assert server.get("/api/v2/status")[0] == 200  # what needs no room is answered
        batch = server.ask("POST", f"{LINEAGE}/batch", b"[" + event(1000, 400_000) + b"," + event(1001, 400_000) + b"]")
        refused(batch)
        free()
        until_taken(server, event(number, 200_000))
        assert asked(postgres, "select count(*) from events", "small_disk") == taken + 1
    finally:
        server.stop()


# -- waiting --


class Locked:
    """Another transaction locks the log for a while."""

    def __init__(self, postgres: EmbeddedPostgres) -> None:
        self.link = psycopg.connect(postgres.url)

    def __enter__(self) -> "Locked":
        self.link.execute("lock table events in access exclusive mode")
        return self

    def __exit__(self, *_: object) -> None:
        self.link.rollback()
        self.link.close()


def test_no_connection_is_free(serve: Any, postgres: EmbeddedPostgres) -> None:
    server = serve(HEADWATER_DATABASE__POOL_SIZE="2").ready()
    assert server.ask("POST", LINEAGE, event(0))[0] == 201
    writers: list[int] = []

    def write(path: str, body: bytes) -> None:
        writers.append(server.ask("POST", path, body)[0])

    # Single events share one transaction; a batch has its own.
    bodies = [(LINEAGE, event(1)), (f"{LINEAGE}/batch", b"[" + event(2) + b"]"), (LINEAGE, event(3))]
    threads = [threading.Thread(target=write, args=body) for body in bodies]
    with Locked(postgres):
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        until(postgres, "select count(*) = 2 from pg_stat_activity where wait_event_type = 'Lock'")
        refused(server.get("/api/v2/status"))
        assert server.get("/readyz")[0] == 503
        assert server.get("/healthz")[0] == 200
        assert not writers
    for thread in threads:
        thread.join()
    assert sorted(writers) == [200, 201, 201]
    assert server.get("/api/v2/status")[0] == 200


def test_a_statement_that_takes_too_long(serve: Any, postgres: EmbeddedPostgres) -> None:
    server = serve(HEADWATER_DATABASE__STATEMENT_TIMEOUT_SECONDS="1").ready()
    assert server.ask("POST", LINEAGE, event(0))[0] == 201
    with Locked(postgres):
        refused(server.ask("POST", LINEAGE, event(1)))
        refused(server.ask("POST", f"{LINEAGE}/batch", b"[" + event(2) + b"]"))
    assert asked(postgres, "select count(*) from events") == 1
    until_taken(server, event(1))


def test_clients_that_send_a_byte_a_second(serve: Any, postgres: EmbeddedPostgres) -> None:
    """They are disconnected, and no other client waits for them."""
    server = serve(HEADWATER_SERVER__BODY_SECONDS="2", HEADWATER_SERVER__MAX_CONCURRENT="40").ready()
    told: list[bytes] = []

    def trickle(number: int) -> None:
        body = event(number)
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as link:
            link.sendall(
                b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (LINEAGE.encode(), len(body))
            )
            link.settimeout(1.0)
            for at in range(20):
                try:
                    link.sendall(body[at : at + 1])
                    told.append(link.recv(65536))
                    return
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            told.append(b"")

    threads = [threading.Thread(target=trickle, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for number in range(100, 120):
        assert server.ask("POST", LINEAGE, event(number))[0] == 201
    for thread in threads:
        thread.join()
    assert {one[:12] for one in told} == {b"HTTP/1.1 408"}
    assert asked(postgres, "select count(*) from events") == 20
    assert server.ask("POST", LINEAGE, event(1))[0] == 201


# -- PostgreSQL comes and goes --


def test_postgresql_is_started_again(tmp_path: Path) -> None:
    """Stopped at once, as a machine does; away for a while; back. Twice, the second time with requests under way."""
    own = EmbeddedPostgres(tmp_path / "postgres")
    (tmp_path / "server").mkdir()
    server = Process(tmp_path / "server", own.url, {"HEADWATER_DATABASE__POOL_SIZE": "3"})
    taken: set[int] = set()
    stop = threading.Event()

    def load(first: int) -> None:
        number = first
        while not stop.is_set():
            told = server.ask("POST", LINEAGE, event(number))
            if told[0] == 201:
                taken.add(number)
                number += 1
            else:
                refused(told)
                time.sleep(0.1)

    threads = [threading.Thread(target=load, args=(first,)) for first in (0, 1_000_000)]
    try:
        server.ready()
        for thread in threads:
            thread.start()
        while len(taken) < 20:
            time.sleep(0.02)
        for away in (0.0, 4.0):
            stop_at_once(own)
            time.sleep(away)
            if away:
                refused(server.ask("POST", LINEAGE, event(5_000_000)))
                assert server.get("/readyz")[0] == 503
                assert server.get("/healthz")[0] == 200
            own._server.ensure_postgres_running()
            until_taken(server, event(6_000_000 + int(away)))
            before = len(taken)
            while len(taken) < before + 20:
                time.sleep(0.02)
        stop.set()
        for thread in threads:
            thread.join()
        assert server.get("/readyz")[0] == 200
        assert asked(own, "select count(distinct run_id) = count(*) from events")
        assert asked(own, "select count(*) from events") >= len(taken)
        for number in (0, 1_000_000):
            mine = sorted(one for one in taken if (one >= 1_000_000) == (number > 0))
            assert mine == list(range(number, number + len(mine)))
    finally:
        stop.set()
        server.stop()
        own.stop()


def stop_at_once(own: EmbeddedPostgres) -> None:
    from embedded_postgres._commands import pg_ctl

    pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=own._server.pgdata, user=own._server.system_user, timeout=60)
