"""A receiver of deliveries on a real socket: keeps every request byte for byte, and answers as a test tells it to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]]


class Received:
    def __init__(self, path: str, headers: dict[str, str], body: bytes, status: int) -> None:
        self.path, self.headers, self.body, self.status = path, headers, body, status

    def events(self) -> list[dict[str, Any]]:
        """Return the events of a body of any shape: a webhook's, a batch, one event."""
        told = json.loads(self.body)
        if isinstance(told, list):
            return told
        return told["events"] if "delivery" in told else [told]


class Receiver:
    """`answer(path, body)` decides; `requests` has all, in the order they came."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.answer: Callable[[str, bytes], Answer] = lambda _path, _body: (204, b"")
        self.url = ""

    def jobs(self) -> list[str]:
        """Jobs of events that were taken, in the order they came."""
        return [event["job"]["name"] for one in list(self.requests) if one.status < 300 for event in one.events()]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sender died between the head and the end of the body
                self.close_connection = True
                return
            status, reply, *more = receiver.answer(self.path, body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append(Received(self.path, headers, body, status))
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply)

        do_PATCH = do_POST

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...  # a sender that went away is what some tests are about

    server = Server(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


def waited(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()
