"""The server under load, its statements about itself, and its secrets."""

import asyncio
import gzip
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
from litestar import Request, Response, Router, get, post
from litestar.response import Stream
from tests.events import encoded, run_event

from headwater import telemetry
from headwater.api import problems
from headwater.api.app import create_app
from headwater.errors import DatabaseRefused, DatabaseUnavailable, HeadwaterError, NotFound
from headwater.intake.events import accept
from headwater.settings import DatabaseSettings, Settings

EVENT = encoded(run_event("COMPLETE", 1, "job", ["/in"], ["/out"]))


def samples(server: Any) -> dict[str, float]:
    lines = [line for line in server.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


# -- metrics --


def test_what_came_in_is_counted(served: Any) -> None:
    server = served()
    server.post("/api/v1/lineage", content=EVENT)
    server.post("/api/v1/lineage", content=EVENT)
    server.post("/api/v1/lineage", content=b"{}")
    server.post("/api/v1/lineage/batch", content=b"[%s, %s, 7]" % (EVENT, encoded(run_event("START", 2, "job"))))
    found = samples(server)
    assert found['headwater_events_total{outcome="accepted"}'] == 2
    assert found['headwater_events_total{outcome="duplicate"}'] == 2
    assert found['headwater_events_total{outcome="refused"}'] == 2
    assert (found["headwater_batch_events_count"], found["headwater_batch_events_sum"]) == (4, 6)
    assert found["headwater_projection_seconds_count"] == 3
    assert found['headwater_http_requests_total{method="POST",route="/api/v1/lineage",status="201"}'] == 2
    assert found['headwater_http_requests_total{method="POST",route="/api/v1/lineage",status="422"}'] == 1
    assert found['headwater_http_request_seconds_count{method="POST",route="/api/v1/lineage"}'] == 3
    assert found['headwater_pool_connections{state="most"}'] == 2
    assert found["headwater_log_bytes"] > 0
    assert found["headwater_database_up"] == 1
    assert found["headwater_http_requests_running"] == 1


def test_clients_choose_no_label(served: Any) -> None:
    server = served()

    def visit(numbers: range) -> dict[str, float]:
        for number in numbers:
            server.get(f"/api/v2/runs/unknown-{number}")
            server.get(f"/api/v9/{number}")
            server.ask(f"VERB{number}", "/api/v2/status")
            server.post(f"/nowhere/{number}")
        return samples(server)

    visit(range(3))
    first, second = visit(range(3)), visit(range(10, 20))
    assert first.keys() == second.keys()
    assert not [name for name in second if "unknown-" in name or "VERB" in name]
    assert second['headwater_http_requests_total{method="GET",route="/api/v2/runs/{run_id}",status="404"}'] == 16


def test_metrics_may_be_public_where_all_else_is_not(served: Any) -> None:
    server = served(access={"mode": "keys", "admin_key": "x" * 20, "public_metrics": True})
    assert server.get("/metrics").status_code == 200
    assert server.get("/api/v2/status").status_code == 401


# -- health --


def test_ready_means_the_database_answers_and_has_this_versions_schema(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headwater.answer import health

    server = served()
    assert (server.get("/readyz").status_code, server.get("/readyz").json()["ok"]) == (200, True)
    known = health.migration_files()
    monkeypatch.setattr(health, "migration_files", lambda: [*known, ("9999_next.sql", "")])
    reply = server.get("/readyz")
    assert (reply.status_code, "9999_next.sql" in reply.json()["reason"]) == (503, True)


def test_alive_is_not_ready(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from headwater.api.routes import health as routes

    server = served()

    async def silent(_database: Any) -> Any:
        await asyncio.sleep(60)

    async def gone(_database: Any) -> Any:
        raise DatabaseUnavailable("PostgreSQL connection failed: host db.internal")

    monkeypatch.setattr(routes, "_PATIENCE", 0.05)
    for broken in (silent, gone):
        monkeypatch.setattr(routes.health, "unready", broken)
        monkeypatch.setattr(routes.health, "log_size", broken)
        reply = server.get("/readyz")
        assert (reply.status_code, "internal" in reply.text) == (503, False)
        assert server.get("/healthz").status_code == 200
        assert samples(server)["headwater_database_up"] == 0


# -- limits --


entered: list[int] = []


@get("/api/v2/slow")
async def slow() -> None:
    entered.append(1)
    await asyncio.sleep(30)


def _stream(pause: float) -> Stream:
    async def parts() -> Any:
        for _ in range(4):
            yield b"part " * 300
            await asyncio.sleep(pause)

    return Stream(parts(), media_type="text/plain")


@get("/api/v2/long")
async def long() -> Stream:
    return _stream(0.4)


@get("/api/v2/parts")
async def in_parts() -> Stream:
    return _stream(0)


@post("/api/v2/body")
async def take_body(request: Request[Any, Any, Any]) -> dict[str, int]:
    return {"bytes": len(await request.body())}


def test_an_answer_that_takes_too_long_is_a_503(served: Any) -> None:
    reply = served([slow], server={"request_seconds": 0.1}).get("/api/v2/slow")
    assert (reply.status_code, reply.json()["code"]) == (503, "timed_out")
    assert reply.headers["retry-after"]


def test_events_given_up_on_are_kept_once_and_the_connection_is_good(served: Any, postgres: Any) -> None:
    server = served(server={"request_seconds": 1})
    with psycopg.connect(postgres.url) as other:
        other.execute("lock table events in access exclusive mode")
        for _ in range(3):  # one more than the pool holds
            reply = server.post("/api/v1/lineage", content=EVENT)
            assert (reply.status_code, reply.json()["code"]) == (503, "timed_out")
        other.rollback()
    # The event is there once, sent again as a 503 asks, whether or not the write went on without its request.
    assert server.post("/api/v1/lineage", content=EVENT).status_code == 201
    assert server.get("/api/v2/status").json()["events"]["total"] == 1
    assert samples(server)["headwater_pool_waiting"] == 0


def _own_shape(_request: Any, error: HeadwaterError) -> Response[Any]:
    status = problems.problem(error).status
    return Response({"error": {"code": status}}, status_code=status, headers=problems.headers(error))


@post("/events", status_code=201)
async def take(request: Request[Any, Any, Any]) -> None:
    await request.body()


def test_routes_with_a_shape_of_their_own_keep_it_for_every_refusal(served: Any) -> None:
    """A route may have its own shape, as /api/v1 does: the guard and the limits answer through its handlers."""
    router = Router("/api/other", route_handlers=[take, slow], exception_handlers={HeadwaterError: _own_shape})
    server = served(
        [router],
        access={"mode": "keys", "admin_key": "k" * 20},
        server={"max_body_bytes": 1024, "request_seconds": 1, "max_concurrent": 1},
    )
    refused = [
        server.post("/api/other/events"),
        server.post("/api/other/events", "k" * 20, content=b"x" * 2000),
        server.get("/api/other/api/v2/slow", "k" * 20),
    ]
    assert [reply.json() for reply in refused] == [{"error": {"code": code}} for code in (401, 413, 503)]
    assert "www-authenticate" in refused[0].headers
    assert "retry-after" in refused[2].headers


def test_an_answer_that_has_begun_may_take_its_time(served: Any) -> None:
    assert served([long], server={"request_seconds": 1}).get("/api/v2/long").text == "part " * 1200


def test_one_request_too_many_is_told_so_before_any_work(served: Any, statements: Any) -> None:
    server = served([slow], server={"max_concurrent": 2})

    async def crowd() -> Any:
        entered.clear()
        waiting = [asyncio.create_task(server.http.get("/api/v2/slow")) for _ in range(2)]
        while len(entered) < 2:
            await asyncio.sleep(0.01)
        with statements() as counted:
            replies = [await server.http.get(path) for path in ("/api/v2/status", "/healthz", "/readyz", "/metrics")]
            refused = await server.http.post("/api/v1/lineage", content=EVENT)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return [*replies, refused], counted

    replies, counted = server.run(crowd())
    assert [reply.status_code for reply in replies] == [503, 200, 200, 200, 503]
    assert (replies[0].json()["code"], replies[0].headers["retry-after"]) == ("overloaded", "1")
    # `/readyz` and `/metrics` may always be asked.
    assert set(counted) == {"migrations", "log_size", "all"}
    assert server.get("/api/v2/status").status_code == 200


def test_a_full_pool_answers_503_or_waits_and_never_500(served: Any) -> None:
    server = served(server={"max_concurrent": 20})

    async def flood() -> list[int]:
        asked = [server.http.get("/api/v2/status") for _ in range(100)]
        return [reply.status_code for reply in await asyncio.gather(*asked)]

    answered = server.run(flood())
    assert set(answered) == {200, 503}
    assert answered.count(200) >= 20


def raw(server: Any, path: str, headers: list[tuple[bytes, bytes]], messages: list[Any]) -> tuple[int, bytes, int]:
    """(status, body, messages taken) of a POST whose body is these messages and then silence."""
    sent: list[Any] = []
    taken = 0

    async def receive() -> Any:
        nonlocal taken
        if taken < len(messages):
            taken += 1
            return messages[taken - 1]
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "http_version": "1.1",
        "headers": [(b"host", b"localhost"), *headers], "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "state": {}, "root_path": "", "asgi": {"version": "3.0"}, "extensions": {},
    }  # fmt: skip
    server.run(asyncio.wait_for(server.app(scope, receive, send), 10))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]), taken


def part(body: bytes, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize("path", ["/api/v1/lineage", "/api/v2/body"])
def test_a_body_is_bounded_in_size_and_time(served: Any, path: str) -> None:
    server = served([take_body], server={"max_body_bytes": 2000, "body_seconds": 0.5})
    # By its announcement alone.
    assert raw(server, path, [(b"content-length", b"2001")], [part(b"x", True)])[::2] == (413, 0)
    # Without one, as soon as there is too much.
    assert raw(server, path, [], [part(b"x" * 900, True)] * 9)[::2] == (413, 3)
    status, body, _ = raw(server, path, [(b"content-length", b"100")], [part(b"x", True)])
    assert (status, json.loads(body)["code"]) == (408, "too_slow")
    assert server.post("/api/v2/body", content=b"x" * 2000).json() == {"bytes": 2000}


# -- gzip --


@pytest.fixture(scope="module")
def talkative(served_to_all: Any) -> Any:
    return served_to_all([in_parts])


@pytest.mark.parametrize(
    ("accept", "packed"),
    [
        ("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP", True),
        ("gzip;q=0", False), ("*;q=0", False), ("identity", False), ("", False), ("gzip;q=x", False),
    ],
)  # fmt: skip
def test_long_answers_are_packed_for_those_who_ask(talkative: Any, accept: str, packed: bool) -> None:
    for path in ("/schema/openapi.json", "/api/v2/parts"):
        reply = talkative.get(path, headers={"accept-encoding": accept})
        assert (reply.headers.get("content-encoding") == "gzip") is packed, path
        assert reply.headers["vary"] == "Accept-Encoding"
        assert len(reply.content) > 1024
    short = talkative.get("/healthz", headers={"accept-encoding": accept})
    assert ("content-encoding" in short.headers, short.json()["ok"]) == (False, True)


def test_a_packed_answer_is_the_answer(served: Any) -> None:
    server = served()

    async def wire() -> bytes:
        async with server.http.stream("GET", "/schema/openapi.json", headers={"accept-encoding": "gzip"}) as reply:
            told = b"".join([part async for part in reply.aiter_raw()])
            assert int(reply.headers["content-length"]) == len(told)
            return told

    packed = server.run(wire())
    plain = server.get("/schema/openapi.json", headers={"accept-encoding": "identity"})
    assert gzip.decompress(packed) == plain.content
    assert len(packed) < len(plain.content) / 3


# -- what is kept inside --


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DatabaseRefused('PostgreSQL refused: relation "secret_table" does not exist', sqlstate="42P01"), 422),
        (DatabaseUnavailable("PostgreSQL connection failed: host secret_table.internal"), 503),
        (RuntimeError("secret_table"), 500),
        (NotFound("what was asked for"), 404),
    ],
)
def test_no_error_says_anything_of_the_inside(
    served: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any, error: Exception, status: int
) -> None:
    from headwater.answer import health

    async def broken(_database: Any, _retention: Any) -> Any:
        raise error

    monkeypatch.setattr(health, "status", broken)
    reply = served().get("/api/v2/status")
    assert reply.status_code == status
    for word in ("secret_table", "42P01", "Traceback", "PostgreSQL", "select"):
        assert word not in reply.text
    assert ("retry-after" in reply.headers) == (status == 503)
    assert ("secret_table" in caplog.text) == (status != 404)


def test_each_request_is_a_line_at_debug(served: Any, caplog: Any) -> None:
    server = served()
    with caplog.at_level(logging.INFO, "headwater"):
        server.get("/api/v2/status")
    assert "RequestAnswered" not in caplog.text
    with caplog.at_level(logging.DEBUG, "headwater"):
        server.get("/api/v2/runs/none")
    assert "RequestAnswered method='GET' path='/api/v2/runs/none' status=404" in caplog.text
    assert "actor='anonymous'" in caplog.text


# -- traces --


class Collector:
    """Takes OTLP over HTTP; the names and parents of the spans it got."""

    def __init__(self) -> None:
        self.spans: dict[str, Any] = {}
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        collector.spans |= {span.name: span for span in scope.spans}
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


def test_requests_and_transactions_are_spans_where_traces_are_on(
    postgres: Any, database: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.fixtures.app import _start, task_end
    from tests.fixtures.servers import Served

    collector = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server.server_port}")
    app = create_app(Settings(database=DatabaseSettings(url=postgres.url, pool_size=2)))
    stop, task = run(_start(app._app))
    server = Served(app, run)
    trace = "0af7651916cd43dd8448eb211c80319c"
    server.post("/api/v1/lineage", content=EVENT, headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    server.get("/api/v2/runs/none")
    run(server.http.aclose())
    stop.set()
    run(task_end(task))  # the end sends what is left
    collector.server.shutdown()
    collector.server.server_close()
    posted, inner = collector.spans["POST /api/v1/lineage"], collector.spans["intake.transaction"]
    assert (posted.trace_id.hex(), inner.trace_id) == (trace, posted.trace_id)
    assert inner.parent_span_id == posted.span_id
    told = {item.key: item.value.int_value or item.value.string_value for item in posted.attributes}
    assert (told["http.response.status_code"], told["http.route"]) == (201, "/api/v1/lineage")
    assert "GET /api/v2/runs/{run_id}" in collector.spans


def test_without_traces_nothing_of_them_is_made(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    served()
    assert telemetry._spans == []
    assert accept.telemetry.span("x") is not None
