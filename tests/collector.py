"""A small OpenLineage server on a real socket: keeps what it gets, and answers as a test tells it to."""

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, bytes]


class Collector:
    """`answer(path, events)` decides the reply; what was answered with 2xx is in `events`, every request in `requests`."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], list[dict[str, Any]]]] = []
        self.connections = 0
        self.answer: Callable[[str, list[dict[str, Any]]], Answer] = lambda _path, _events: (204, b"")
        self.headers: dict[str, str] = {}  # of every reply
        self._server: ThreadingHTTPServer | None = None
        self._open: list[Any] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                collector.connections += 1
                collector._open.append(self.request)
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                given = json.loads(body)
                events = given if isinstance(given, list) else [given]
                collector.requests.append((self.path, dict(self.headers), events))
                status, reply = collector.answer(self.path, events)
                if 200 <= status < 300:
                    collector.events.extend(events)
                self.send_response(status)
                self.send_header("Content-Length", str(len(reply)))
                for name, value in collector.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply)

            def do_GET(self) -> None:
                collector.requests.append((self.path, dict(self.headers), []))
                status, reply = collector.answer(self.path, [])
                self.send_response(status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_: object) -> None: ...  # a client that went away is what some tests are about

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        for request in self._open:
            with_suppress(request.shutdown, 2)
            with_suppress(request.close)
        self._open.clear()

    def wait_for(self, count: int, timeout: float = 10.0) -> list[dict[str, Any]]:
        deadline = time.monotonic() + timeout
        while len(self.events) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(self.events) >= count, f"{len(self.events)} of {count} events arrived"
        return self.events

    def types(self) -> list[str]:
        return [event["eventType"] for event in self.events]


def with_suppress(call: Callable[..., object], *args: object) -> None:
    try:
        call(*args)
    except OSError:
        return


@contextmanager
def running() -> Iterator[Collector]:
    collector = Collector()
    collector.start()
    try:
        yield collector
    finally:
        collector.stop()
