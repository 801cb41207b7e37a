"""A proxy on a real socket that stands before a Headwater server and lies in one way that a test plants."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Reply = tuple[int, bytes]
Forward = Callable[[bytes | None], Reply]
Lie = Callable[[str, bytes | None, Forward], Reply | None]
"""`(target, body or None for a GET, forward)` to the reply; None: hang up without one. `forward(body)` asks the server."""


def honest(_target: str, body: bytes | None, forward: Forward) -> Reply | None:
    return forward(body)


@contextmanager
def standing_before(url: str, lie: Lie) -> Iterator[str]:
    """The proxy's address."""
    server_at = urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        def answer(self, body: bytes | None) -> None:
            def forward(given: bytes | None) -> Reply:
                connection = http.client.HTTPConnection(server_at, timeout=30)
                try:
                    connection.request(self.command, self.path, given, {"Content-Type": "application/json"})
                    response = connection.getresponse()
                    return response.status, response.read()
                finally:
                    connection.close()

            reply = lie(self.path, body, forward)
            if reply is None:
                self.close_connection = True
                return
            self.send_response(reply[0])
            self.send_header("Content-Length", str(len(reply[1])))
            self.end_headers()
            self.wfile.write(reply[1])

        def do_GET(self) -> None:
            self.answer(None)

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])))

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
