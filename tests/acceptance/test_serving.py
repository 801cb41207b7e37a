"""The server as a process: who it lets in, slow clients, the end, several processes, below a path."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.events import encoded, run_event
from tests.fixtures.processes import free_port
from tests.scale import suite_takes

import headwater
from headwater.cli.process import alive

# Python runs `sitecustomize` at its start: here one with which preparing never ends.
SLOW = """\
import asyncio
import headwater.intake.upkeep.rebuild as rebuild

async def needed(_):
    print("preparing", flush=True)
    await asyncio.sleep(600)

rebuild.needed = needed
"""
EVENT = encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"]))


def test_it_does_not_listen_to_a_network_without_access_control(serve: Any, database: Any, run: Any) -> None:
    async def no_keys() -> None:
        async with database.connection() as connection:
            await connection.execute("update api_keys set revoked_at = now() where revoked_at is null")

    run(no_keys())
    refused = serve(HEADWATER_SERVER__HOST="0.0.0.0")
    assert refused.process.wait(timeout=30) == 1
    told = refused.log.read_text()
    assert "headwater server keys create" in told
    assert "Traceback" not in told

    def headwater(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "headwater", *arguments],
            env=refused.env,
            capture_output=True,
            text=True,
            check=False,
        )
        # The doctor also looks at this machine: it may lack what other tests need.
        assert done.returncode == 0 or arguments[0] == "doctor", done.stderr
        return done.stdout

    made = json.loads(headwater("keys", "create", "first", "--role", "write", "--expires", "90d", "--json"))
    server = serve(HEADWATER_SERVER__HOST="0.0.0.0").ready()
    assert server.get("/api/v2/status")[0] == 401
    assert server.get("/api/v2/status", Authorization=f"Bearer {made['key']}")[0] == 200
    assert server.ask("POST", "/api/v1/lineage", EVENT)[0] == 401
    assert server.ask("POST", "/api/v1/lineage", EVENT, Authorization=f"Bearer {made['key']}")[0] == 201
    (listed,) = [key for key in json.loads(headwater("keys", "list", "--json"))["keys"] if key["id"] == made["id"]]
    assert (listed["name"], listed["role"], listed["last_used_at"] is not None) == ("first", "write", True)
    assert made["key"] not in headwater("keys", "list")
    refused.env |= {"HEADWATER_API_KEY": made["key"], "HEADWATER_URL": f"http://127.0.0.1:{server.port}"}
    checked = {check["name"]: check for check in json.loads(headwater("doctor", "--json"))}
    assert (checked["access"]["verdict"], checked["access"]["finding"]) == ("ok", "first may write")
    headwater("keys", "revoke", "first")
    began = time.monotonic()
    while server.get("/api/v2/status", Authorization=f"Bearer {made['key']}")[0] == 200:
        assert time.monotonic() - began < 5
        time.sleep(0.2)
    actions = [row["action"] for row in json.loads(headwater("audit", "--target", "first", "--json"))["entries"]]
    assert actions == ["revoke_key", "create_key"]
    assert "revoke_key" in headwater("audit", "--target", "first", "--since", "2026-01-01")


def test_open_to_a_network_by_name_is_a_warning(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__HOST="0.0.0.0", HEADWATER_ACCESS__MODE="open").ready()
    assert server.get("/api/v2/status")[0] == 200
    assert "WARNING headwater OpenToNetwork" in server.log.read_text()


def test_slow_clients_are_let_go(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__HEADER_SECONDS="1", HEADWATER_SERVER__BODY_SECONDS="1").ready()
    began = time.monotonic()
    assert b"200" not in server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    assert time.monotonic() - began < 8
    began = time.monotonic()
    told = server.raw(
        b"POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", b'{"run"', pause=0.1
    )
    assert told.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < 8
    # A body that is too large is refused on its announcement: nothing of it was sent.
    announced = (
        b"POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n"
    )
    assert server.raw(announced).startswith(b"HTTP/1.1 413")
    assert server.ask("POST", "/api/v1/lineage", EVENT)[0] == 201


def test_requests_in_flight_finish_and_the_end_is_bounded(serve: Any, postgres: Any) -> None:
    server = serve(HEADWATER_SERVER__SHUTDOWN_SECONDS="15").ready()
    told: list[int] = []
    with psycopg.connect(postgres.url) as other:
        other.execute("lock table events in access exclusive mode")
        client = threading.Thread(target=lambda: told.append(server.ask("POST", "/api/v1/lineage", EVENT)[0]))
        client.start()
        _until(postgres, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
        server.process.terminate()
        time.sleep(0.5)
        assert server.process.poll() is None
        other.rollback()
    client.join()
    assert told == [201]
    assert server.process.wait(timeout=20) == 0


@pytest.mark.soak
def test_what_does_not_finish_does_not_hold_up_the_end(serve: Any, postgres: Any) -> None:
    server = serve(HEADWATER_SERVER__SHUTDOWN_SECONDS="1").ready()
    with psycopg.connect(postgres.url) as other:
        other.execute("lock table events in access exclusive mode")

        def lost() -> None:
            with pytest.raises(ConnectionError):
                server.ask("POST", "/api/v1/lineage", EVENT)

        client = threading.Thread(target=lost)
        client.start()
        _until(postgres, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 10
        other.rollback()
    client.join()


def _until(postgres: Any, question: str) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as asking:
        for _ in range(200):
            row = asking.execute(question).fetchone()
            if row and row[0]:
                return
            time.sleep(0.05)
    raise AssertionError(question)


def test_several_processes_are_one_server(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__WORKERS="2").ready()
    for number in range(30):
        assert server.ask("POST", "/api/v1/lineage", encoded(run_event("COMPLETE", number, "job")))[0] == 201
    assert json.loads(server.get("/api/v2/status")[1])["events"]["total"] == 30
    # One of them may still be starting.
    for _ in range(200):
        if b'headwater_pool_connections{state="most"} 4.0' in server.get("/metrics")[1]:
            break
        time.sleep(0.1)
    # Whichever process answers, it answers for all.
    for _ in range(10):
        text = server.get("/metrics")[1].decode()
        assert 'headwater_events_total{outcome="accepted"} 30.0' in text
        assert 'headwater_pool_connections{state="most"} 4.0' in text
    assert server.stop() == 0


@pytest.mark.soak
def test_workers_end_with_a_server_that_is_killed(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__WORKERS="2").ready()
    server.process.kill()
    server.process.wait()
    deadline = time.monotonic() + 20
    with contextlib.suppress(ConnectionRefusedError):
        while True:
            server.get("/readyz")
            assert time.monotonic() < deadline, "a worker goes on without its server"
            time.sleep(0.1)


def test_below_a_path_everything_works(serve: Any) -> None:
    server = serve(
        HEADWATER_SERVER__ROOT_PATH="lineage/", HEADWATER_SERVER__PUBLIC_URL="https://data.example/lineage"
    ).ready()
    status, _, headers = server.get("/lineage")
    assert (status, headers["location"]) == (308, "/lineage/")
    status, page, headers = server.get("/lineage/?node=dataset%3Aa%3Ab")
    assert (status, headers["content-type"].split(";")[0]) in {(200, "text/html"), (200, "text/plain")}
    for asset in re.findall(rb'(?:src|href)="\./([^"]+)"', page):
        assert server.get(f"/lineage/{asset.decode()}")[0] == 200, asset
    assert b'="/' not in page
    assert (
        server.ask("POST", "/lineage/api/v1/lineage", encoded(run_event("START", 1, "lineage", [], ["/lineage/x"])))[0]
        == 201
    )
    assert json.loads(server.get("/lineage/api/v2/jobs/test/lineage")[1])["name"] == "lineage"
    assert json.loads(server.get("/lineage/api/v2/lineage?node=job:test:lineage")[1])["root"] == "job:test:lineage"
    # Probes ask the process itself, and a proxy that takes the prefix off is as good.
    for path in ("/healthz", "/lineage/healthz", "/lineage/metrics", "/api/v2/lineage?node=job:test:lineage"):
        assert server.get(path)[0] == 200, path
    described = json.loads(server.get("/lineage/schema/openapi.json")[1])
    assert described["servers"] == [{"url": "/lineage"}]
    # A path that only begins like the prefix is one of the page's own, two folders deeper than its start.
    deep, start = server.get("/lineageapi/v2/status")[1], server.get("/")[1]
    assert deep == start.replace(b'<base href="./" />', b'<base href="../../" />') != start


def test_told_to_stop_while_it_prepares_it_takes_its_database_along(tmp_path: Path) -> None:
    """A migration or a rebuild may take long; the embedded PostgreSQL does not outlive the server that began it."""
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    home = tmp_path / "home"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OTEL_"))}
    path = f"{tmp_path}:{Path(headwater.__file__).parents[1]}"
    env = {**kept, "HEADWATER_HOME": str(home), "HEADWATER_SERVER__PORT": str(free_port()), "PYTHONPATH": path}
    server = subprocess.Popen([sys.executable, "-m", "headwater", "serve"], env=env, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"preparing\n"
    postgres = int((home / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])
    try:
        server.terminate()
        assert server.wait(timeout=30) == 128 + signal.SIGTERM
        assert not (home / "postgres" / "postmaster.pid").exists()
        assert not alive(postgres)
        assert not (home / "server.json").exists()
    finally:
        server.kill()
        server.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(postgres, signal.SIGINT)


def test_a_port_that_another_server_holds_is_refused(serve: Any) -> None:
    first = serve().ready()
    second = serve(HEADWATER_SERVER__PORT=str(first.port))
    assert second.process.wait(timeout=60) != 0
    log = second.log.read_text(encoding="utf-8")
    assert f"port {first.port} on 127.0.0.1" in log
    assert "HEADWATER_SERVER__PORT=" in log
    assert first.get("/readyz")[0] == 200


@pytest.mark.parametrize("host", suite_takes(["[::1]", "::1"], ["::1"]))
def test_an_ipv6_address(serve: Any, host: str) -> None:
    server = serve(HEADWATER_SERVER__HOST=host)
    status, deadline = 0, time.monotonic() + 60
    while status != 200:
        assert time.monotonic() < deadline, server.log.read_text(encoding="utf-8")
        with (
            contextlib.suppress(OSError),
            contextlib.closing(http.client.HTTPConnection("::1", server.port)) as connection,
        ):
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
        time.sleep(0.1)
    assert f"http://[::1]:{server.port}" in server.log.read_text(encoding="utf-8")
