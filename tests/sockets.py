"""Thousands of connections that send nothing, half a header, or a byte now and then, beside one client that works.

    python -m tests.sockets http://127.0.0.1:5000 --connections 5000 --seconds 20

prints the client's times and what became of the others, as JSON. `--own` opens them from the client's own address.
"""

import argparse
import contextlib
import http.client
import json
import selectors
import socket
import sys
import threading
import time
from collections import Counter
from urllib.parse import urlsplit

# The bytes that a connection sends first, and then each second.
KINDS = {
    "silent": (b"", b""),
    "half header": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b""),
    "dripping": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"a"),
    "half body": (b"POST /api/v1/lineage HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", b" "),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n", b""),
}


class Crowd:
    """Connections that never make a whole request, opened again when the server ends them."""

    def __init__(self, host: str, port: int, connections: int, *, own: bool = False) -> None:
        self._to, self._count, self._own = (host, port), connections, own
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.opened: Counter[str] = Counter()
        self.ended = 0
        self.full = threading.Event()

    def __enter__(self) -> "Crowd":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _open(self, number: int) -> tuple[socket.socket, bytes]:
        kind = list(KINDS)[number % len(KINDS)]
        first, more = KINDS[kind]
        connection = socket.socket()
        if not self._own:
            connection.bind((f"127.0.0.{2 + number % 200}", 0))
        connection.settimeout(2)
        connection.connect(self._to)
        connection.setblocking(False)
        if first:
            connection.send(first)
        self.opened[kind] += 1
        return connection, more

    def _run(self) -> None:
        numbers, waiting = 0, selectors.DefaultSelector()
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                while len(waiting.get_map()) < self._count and time.monotonic() - began < 0.5:
                    numbers += 1
                    with contextlib.suppress(OSError):
                        connection, more = self._open(numbers)
                        waiting.register(connection, selectors.EVENT_READ, more)
                if len(waiting.get_map()) >= self._count:
                    self.full.set()
                for key in [key for key, _ in waiting.select(0.2)]:
                    self._read(waiting, key)
                for key in list(waiting.get_map().values()):
                    if key.data:
                        with contextlib.suppress(OSError):
                            key.fileobj.send(key.data)  # type: ignore[union-attr]
                self._stop.wait(max(0.0, began + 1 - time.monotonic()))
        finally:
            for key in list(waiting.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]
            waiting.close()

    def _read(self, waiting: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            gone = not key.fileobj.recv(65536)  # type: ignore[union-attr]
        except BlockingIOError:
            return
        except OSError:
            gone = True
        if gone:
            waiting.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
            self.ended += 1


def ask(host: str, port: int, path: str, timeout: float = 10.0) -> tuple[int, float]:
    """The status of one request on a connection of its own (0: none), and its seconds."""
    began = time.monotonic()
    status = 0
    with (
        contextlib.suppress(OSError, http.client.HTTPException),
        contextlib.closing(http.client.HTTPConnection(host, port, timeout=timeout)) as link,
    ):
        link.request("GET", path)
        status = link.getresponse().status
    return status, time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--own", action="store_true", help="open them from the client's own address")
    asked = parser.parse_args()
    parts = urlsplit(asked.url)
    host, port = parts.hostname or "", parts.port or 80
    with Crowd(host, port, asked.connections, own=asked.own) as crowd:
        crowd.full.wait(15)
        ends = time.monotonic() + asked.seconds
        asks = []
        while time.monotonic() < ends:
            asks += [ask(host, port, path) for path in ("/healthz", "/readyz", "/api/v2/status")]
            time.sleep(0.02)
    times = sorted(1000 * seconds for _, seconds in asks)
    answer = {
        "requests": len(asks), "statuses": dict(Counter(status for status, _ in asks)), "p50_ms": round(times[len(times) // 2], 1),
        "p99_ms": round(times[int(len(times) * 0.99)], 1), "longest_ms": round(times[-1], 1), "opened": dict(crowd.opened), "ended": crowd.ended,
    }  # fmt: skip
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
