"""Clients that connect and send nothing, or slowly, keep no other client out. `python -m tests.sockets` does it with thousands."""

import http.client
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from tests.events import encoded, run_event
from tests.fixtures.processes import Process
from tests.scale import suite_takes
from tests.sockets import Crowd, ask

PATHS = ("/healthz", "/readyz", "/api/v2/status")


def statuses(server: Process, seconds: float = 4.0) -> Counter[int]:
    """Count the answers that a working client gets meanwhile, by status."""
    ends, found = time.monotonic() + seconds, Counter[int]()
    while time.monotonic() < ends:
        found.update(ask("127.0.0.1", server.port, path, timeout=30)[0] for path in PATHS)
    return found


def closed(server: Process) -> int:
    return server.log.read_text(encoding="utf-8").count("ConnectionsClosed")


def test_more_connections_than_the_server_accepts_keep_no_client_out(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__MAX_CONNECTIONS="300", HEADWATER_SERVER__MAX_CONCURRENT="32").ready()
    with Crowd("127.0.0.1", server.port, 400) as crowd:
        time.sleep(4)
        assert set(statuses(server)) == {200}
    assert len(crowd.opened) == 5
    assert closed(server)
    assert "Traceback" not in server.log.read_text(encoding="utf-8")


@pytest.mark.soak
def test_one_address_keeps_to_its_share_and_goes_on_working(serve: Any) -> None:
    server = serve(HEADWATER_SERVER__MAX_CONNECTIONS_PER_ADDRESS="64", HEADWATER_SERVER__HEADER_SECONDS="60").ready()
    with Crowd("127.0.0.1", server.port, 200, own=True) as crowd:
        time.sleep(4)
        assert set(statuses(server)) == {200}
    assert crowd.ended
    assert "127.0.0.1" in server.log.read_text(encoding="utf-8").partition("ConnectionsClosed")[2]


@pytest.mark.parametrize("method", suite_takes(["GET", "POST"], ["GET"]))
def test_a_request_that_is_being_answered_is_not_shut_down(serve: Any, method: str) -> None:
    """A question that waits for an answer was never answered, and is soon the oldest of its address."""
    server = serve(HEADWATER_SERVER__MAX_CONNECTIONS_PER_ADDRESS="32", HEADWATER_SERVER__HEADER_SECONDS="60").ready()
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as link:
        if method == "GET":
            link.request("GET", "/api/v2/instances?wait=8")
        else:
            inputs = [f"/in/{number}" for number in range(20_000)]
            link.request("POST", "/api/v1/lineage", encoded(run_event("COMPLETE", 1, "job", inputs, ["/out"])))
        with Crowd("127.0.0.1", server.port, 200, own=True) as crowd:
            assert link.getresponse().status in {200, 201}
            # On a quick machine an event is stored before the server looks at its connections.
            deadline = time.monotonic() + 20
            while not closed(server) and time.monotonic() < deadline:
                time.sleep(0.1)
        assert crowd.ended
    assert closed(server)


@pytest.mark.soak
def test_producers_behind_a_trusted_proxy_are_not_one_address(serve: Any) -> None:
    more = {"HEADWATER_SERVER__MAX_CONNECTIONS_PER_ADDRESS": "64", "HEADWATER_SERVER__HEADER_SECONDS": "60"}
    server = serve(HEADWATER_SERVER__TRUSTED_PROXIES="10.0.0.0/8, 127.0.0.1", **more).ready()
    with Crowd("127.0.0.1", server.port, 200, own=True) as crowd:
        assert crowd.full.wait(30)
        time.sleep(4)
        assert set(statuses(server)) == {200}
    assert closed(server) == 0
    assert crowd.ended <= crowd.opened["HTTP/2"]


def test_what_sends_no_header_is_let_go(serve: Any) -> None:
    """Also what does not send a byte, and what speaks another protocol."""
    server = serve(HEADWATER_SERVER__HEADER_SECONDS="1", HEADWATER_SERVER__BODY_SECONDS="1").ready()
    with Crowd("127.0.0.1", server.port, 50) as crowd:
        deadline = time.monotonic() + 60
        while crowd.ended < 150:
            assert time.monotonic() < deadline, (crowd.ended, crowd.opened)
            time.sleep(0.1)
    assert set(statuses(server, 1)) == {200}
