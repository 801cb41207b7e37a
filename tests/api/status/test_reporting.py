"""Reports and events that bypass the router get the same answers as through it, for any error in them."""

import asyncio
import gzip
import json
from typing import Any

import httpx
import pytest
from tests.events import dataset, run_event
from tests.fixtures.servers import inner

from headwater.api import reporting
from headwater.errors import DatabaseRefused, DatabaseUnavailable

PATH, EVENTS = "/api/v2/instances", "/api/v1/lineage"
DECLARED = "entity: reads\nperiod: {every: day, from: 2024-01-01}\n"
SAID = {"entity": "reads", "what": "produced", "instances": ["2024-03-10"], "key": "one"}
FEW = {"reports": [SAID]}
BODIES: list[Any] = [
    FEW,
    {"reports": [{**SAID, "key": str(number)} for number in range(100)]},
    {"reports": [{**SAID, "entity": "red"}, {**SAID, "instances": []}, {**SAID, "what": "started"}]},
    {"reports": []},
    {"reports": [SAID] * 10_001},
    {"reports": [{**SAID, "what": "eaten"}]},
    {"reports": [{**SAID, "more": 1}]},
    {"reports": [{"what": "produced"}]},
    {"report": []},
    [],
    None,
    b"",
    b"{",
    b'{"reports": [\xff]}',
]
EVENT = run_event("COMPLETE", 1, "job", [dataset("a")], [dataset("b")])
EVENT_BODIES: list[Any] = [
    EVENT,
    {key: value for key, value in EVENT.items() if key != "producer"},
    {"run": {"runId": "no id"}, "job": {"namespace": "n", "name": "é😀"}, "eventTime": "today", "eventType": "start"},
    {"run": {}, "job": {"namespace": "n"}},
    [EVENT],
    {},
    b"",
    b"{",
    b"\xef\xbb\xbf" + json.dumps(EVENT).encode(),
    b'{"job": {"namespace": "n", "name": "\xff"}}',
]


def content(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


class Both:
    """A server over HTTP, and its router alone."""

    def __init__(self, server: Any) -> None:
        self.server, self.router = server, inner(server.app)
        self.alone = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.router, raise_app_exceptions=False), base_url="http://localhost"
        )

    def ask(self, body: Any, path: str = PATH, **headers: str) -> list[tuple[int, str, dict[str, str]]]:
        """Return the answers of both servers."""

        async def asked() -> list[httpx.Response]:
            return [
                await each.post(path, content=content(body), headers=headers) for each in (self.server.http, self.alone)
            ]

        return [(one.status_code, one.text, dict(one.headers)) for one in self.server.run(asked())]

    def same(self, body: Any, path: str = PATH, **headers: str) -> int:
        """The status of both answers, which are one."""
        first, second = self.ask(body, path, **headers)
        assert first == second
        return first[0]


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of reports in each request that went past the router."""
    found: list[int] = []
    decode = reporting._reports.decode

    class Counted:
        def decode(self, body: bytes) -> Any:
            told = decode(body)
            found.append(len(told.reports))
            return told

    monkeypatch.setattr(reporting, "_reports", Counted())
    return found


def test_the_router_would_answer_the_same(served: Any, past: list[int]) -> None:
    both = Both(served())
    both.server.post("/api/v2/entities", json={"files": [{"name": "a.yaml", "text": DECLARED}]})
    for body in BODIES[:2]:  # so that it is known already
        both.server.post(PATH, content=content(body))
    past.clear()
    statuses = [both.same(body) for body in BODIES]
    assert statuses == [200] * 3 + [422] * 2 + [400] * 9
    assert past == [1, 100, 3, 0, 10_001]
    assert (
        both.same(BODIES[1], **{"accept-encoding": "gzip"}) == both.same(FEW, **{"content-type": "text/plain"}) == 200
    )
    past.clear()
    assert both.same(FEW, f"{PATH}?as=ann") == 200
    assert both.same(FEW, f"{PATH}?nothing=") == 400
    assert not past
    found = both.server.get("/metrics").text
    assert f'headwater_http_requests_total{{method="POST",route="{PATH}",status="422"}} 2.0' in found


def test_the_same_are_let_in(served: Any, key: Any) -> None:
    both = Both(served(access={"mode": "keys", "admin_key": "an-admin-key-of-the-tests"}))
    asked = [both.same(FEW, **({"authorization": f"Bearer {token}"} if token else {}))
             for token in (None, "hw_none", key("read").key, key("write").key)]  # fmt: skip
    assert asked == [401, 401, 403, 200]
    open_ = Both(served())
    assert open_.same(FEW, origin="https://elsewhere.example") == 403


def test_the_same_limits_hold(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(served(server={"max_concurrent": 1, "max_body_bytes": 1024, "request_seconds": 0.2}))
    assert both.same({"reports": [SAID] * 20}) == 413
    errors: list[Exception] = [DatabaseUnavailable("later"), DatabaseRefused("no"), RuntimeError("what")]
    for error, status in zip(errors, (503, 422, 500), strict=True):

        async def fail(*_: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(both.router.state.status, "add", fail)
        assert both.same(FEW) == status

    async def wait(*_: Any) -> Any:
        await asyncio.sleep(60)

    monkeypatch.setattr(both.router.state.status, "add", wait)
    assert both.same(FEW) == 503

    async def crowd() -> list[int]:
        first = asyncio.create_task(both.server.http.post(PATH, content=content(FEW)))
        await asyncio.sleep(0.05)
        second = await both.server.http.post(PATH, content=content(FEW))
        return [second.status_code, (await first).status_code]

    assert both.server.run(crowd()) == [503, 503]


def test_an_event_is_answered_as_by_the_router(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Both(served(server={"max_body_bytes": 4096}))
    for body in EVENT_BODIES:  # so that each is a duplicate in both answers
        both.server.post(EVENTS, content=content(body))
    routed: list[str] = []
    handle = type(both.router).__call__

    async def count(self: Any, scope: Any, receive: Any, send: Any) -> None:
        routed.append(scope["path"])
        await handle(self, scope, receive, send)

    monkeypatch.setattr(type(both.router), "__call__", count)
    assert [both.same(body, EVENTS) for body in EVENT_BODIES] == [201, 201, 201, 422, 400, 422, 400, 400, 201, 201]
    assert len(routed) == len(EVENT_BODIES)  # the router alone; the server answered without it
    packed = gzip.compress(content(EVENT))
    assert both.same(packed, EVENTS, **{"content-encoding": "gzip"}) == 201
    assert both.same(packed[:-4], EVENTS, **{"content-encoding": "gzip"}) == 400
    assert both.same(packed, EVENTS, **{"content-encoding": "br"}) == 400
    assert both.same(b" " * 5000, EVENTS) == 413
    assert both.same(gzip.compress(b" " * 5000), EVENTS, **{"content-encoding": "gzip"}) == 413
    assert both.same(EVENT, EVENTS, origin="https://elsewhere.example") == 403
    routed.clear()
    assert both.same(EVENT, f"{EVENTS}?some=thing") == 201
    assert len(routed) == 2
    found = both.server.get("/metrics").text
    assert f'headwater_http_requests_total{{method="POST",route="{EVENTS}",status="413"}} 2.0' in found


def test_errors_and_keys_of_events_are_those_of_the_router(
    served: Any, key: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Both(served(access={"mode": "keys", "admin_key": "an-admin-key-of-the-tests"}))
    write = {"authorization": f"Bearer {key('write').key}"}
    read = {"authorization": f"Bearer {key('read').key}"}
    both.server.post(EVENTS, content=content(EVENT), headers=write)
    assert [both.same(EVENT, EVENTS, **headers) for headers in ({}, read, write)] == [401, 403, 201]
    errors: list[Exception] = [DatabaseUnavailable("later"), DatabaseRefused("no"), RuntimeError("what")]
    for error, status in zip(errors, (503, 422, 500), strict=True):

        async def fail(*_: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr(both.router.state.intake, "accept", fail)
        assert both.same(EVENT, EVENTS, **write) == status
