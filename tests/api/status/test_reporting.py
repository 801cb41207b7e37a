"""Reports that bypass the router get the same answers as through it, for any error in them."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from tests.fixtures.servers import inner

from headwater.api import reporting
from headwater.errors import DatabaseRefused, DatabaseUnavailable

PATH = "/api/v2/instances"
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
