"""Servers that forward are killed, doubled, and made to send to each other: nothing is missed, nothing storms."""

import json
import socket
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.events import encoded, run_event
from tests.fixtures.processes import Process
from tests.receiver import receiving, waited
from tests.scale import full

from headwater.store.embedded import EmbeddedPostgres

LISTENERS = "/api/v2/admin/listeners"
JSON = {"Content_Type": "application/json"}


def add(server: Process, **wanted: Any) -> None:
    status, body, _ = server.ask(
        "POST", LISTENERS, json.dumps({"name": "one", "kind": "marquez"} | wanted).encode(), **JSON
    )
    assert status == 201, body


def send(server: Process, first: int, count: int) -> None:
    events = [run_event("COMPLETE", n, f"job-{n}", ["/in"], ["/out"]) for n in range(first, first + count)]
    status, body, _ = server.ask("POST", "/api/v1/lineage/batch", encoded(events), **JSON)
    assert status == 200, body


def shown(server: Process) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(server.get(f"{LISTENERS}/one")[1])["listener"]
    return told


def test_a_sender_that_dies_between_head_and_body_has_sent_nothing() -> None:
    """The test's own receiver: a server is killed at any byte."""
    with receiving() as receiver:
        address = urlsplit(receiver.url)
        for body in (b"", b'{"event'):
            with socket.create_connection((address.hostname, address.port)) as link:
                link.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 40\r\n\r\n" + body)
                link.shutdown(socket.SHUT_WR)
                assert link.recv(1024) == b""
        assert receiver.jobs() == []


def test_a_server_killed_in_the_middle_of_a_delivery_misses_nothing(serve: Callable[..., Process]) -> None:
    settings = {"HEADWATER_LISTENERS__LEASE_SECONDS": "3", "HEADWATER_LISTENERS__BATCH_EVENTS": "10"}
    with receiving() as receiver:
        receiver.answer = lambda _path, _body: (time.sleep(0.005), (200, b""))[1]
        server = serve(**settings).ready()
        add(server, url=receiver.url)
        rounds = full(3, 1)
        for round in range(rounds):
            send(server, round * 200, 200)
            assert waited(lambda round=round: len(receiver.jobs()) > round * 200 + 50)
            server.kill()
            server = serve(**settings).ready()
        assert waited(lambda: len(set(receiver.jobs())) == rounds * 200, 40), len(set(receiver.jobs()))
        assert waited(lambda: shown(server)["backlog"] == 0)
        again = len(receiver.jobs()) - rounds * 200
        assert again <= rounds * 10, f"{again} events came twice: more than what was under way"
        jobs = [int(job[4:]) // 200 for job in dict.fromkeys(receiver.jobs())]
        assert jobs == sorted(jobs), "what came later was sent earlier"


@pytest.mark.soak
def test_two_servers_deliver_once(serve: Callable[..., Process]) -> None:
    with receiving() as receiver:
        key = {"HEADWATER_ACCESS__SECRET_KEY": "one key for all servers over a database"}
        first, second = serve(**key), serve(HEADWATER_SERVER__WORKERS="2", **key)
        first.ready()
        second.ready()
        add(first, url=receiver.url, kind="webhook")
        writers = [
            threading.Thread(target=send, args=(server, n * 100, 100))
            for n, server in enumerate((first, second, first, second))
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert waited(lambda: len(receiver.jobs()) >= 400)
        time.sleep(1.5)
        assert len(receiver.jobs()) == len(set(receiver.jobs())) == 400


@pytest.mark.soak
def test_two_headwaters_that_send_to_each_other_stop(serve: Callable[..., Process], postgres: EmbeddedPostgres) -> None:
    name = f"other_{uuid.uuid4().hex}"
    other = urlunsplit(urlsplit(postgres.url)._replace(path=f"/{name}"))
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        a, b = serve(), serve(HEADWATER_DATABASE__URL=other)
        a.ready()
        b.ready()
        add(a, kind="openlineage", url=f"http://127.0.0.1:{b.port}")
        add(b, kind="openlineage", url=f"http://127.0.0.1:{a.port}")
        send(a, 0, 20)
        send(b, 20, 20)
        assert waited(lambda: all(json.loads(one.get("/api/v2/status")[1])["events"]["total"] == 40 for one in (a, b)))
        assert waited(lambda: shown(a)["backlog"] == shown(b)["backlog"] == 0)
        time.sleep(2)
        assert [shown(one)["delivered"] for one in (a, b)] == [40, 40]
        bodies = []
        for url in (postgres.url, other):
            with psycopg.connect(url) as reader:
                bodies.append(set(reader.execute("select body from events").fetchall()))
        assert bodies[0] == bodies[1], "not byte for byte"
        a.stop()
        b.stop()
        connection.execute(f"drop database {name} with (force)".encode())


def test_servers_with_different_keys_say_so(serve: Callable[..., Process]) -> None:
    """A listener's secret that a server with another key encrypted is never sent wrongly: the delivery fails, and names the way out."""
    with receiving() as receiver:
        first = serve(HEADWATER_ACCESS__SECRET_KEY="the key of the first of two servers").ready()
        add(first, url=receiver.url, kind="webhook")
        first.stop()
        second = serve(HEADWATER_ACCESS__SECRET_KEY="the key of the second of two servers").ready()
        assert "SecretKeyChanged" in second.log.read_text(encoding="utf-8")
        send(second, 0, 1)
        assert waited(lambda: shown(second)["last_error"] is not None)
        assert "HEADWATER_ACCESS__SECRET_KEY" in shown(second)["last_error"]
        assert receiver.jobs() == []
        status, _, _ = second.ask("POST", f"{LISTENERS}/one/secret", b"{}", **JSON)
        assert status == 200
        assert waited(lambda: len(receiver.jobs()) == 1)
