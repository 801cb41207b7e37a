"""Send many requests fast over connections kept alive, and time each: one thread, one epoll loop, requests encoded beforehand.

`ceiling()` tells what the generator itself can do, against a process that answers every request at once with a ready reply.
"""

import re
import selectors
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_PATH_SIZE = re.compile(rb"^[A-Z]+ /(\d+)")


def post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\r\n".encode()


@dataclass
class Outcome:
    """`milliseconds` of each answered request in the order of the answers; `cut`: the time given was over before the last was answered."""

    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    received: int = 0
    last: bytes = b""
    bodies: list[bytes] = field(default_factory=list)
    cut: bool = False

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self.seconds if self.seconds else 0.0

    @property
    def failed(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 400)

    def at(self, share: float) -> float:
        """The percentile: the smallest time that `share` of the requests did not exceed."""
        ordered = sorted(self.milliseconds)
        return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))] if ordered else float("nan")


class _Connection:
    def __init__(self, port: int, seconds: float) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.sent, self.wanted, self.body_at = bytearray(), 0.0, -1, 0

    def send(self, request: bytes) -> None:
        self.buffer, self.wanted = bytearray(), -1
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def whole(self) -> bool:
        """Take what has come; whether it is a whole reply."""
        got = self.socket.recv(1 << 20)
        if not got:
            raise ConnectionError(f"the server closed the connection after {bytes(self.buffer[:200])!r}")
        self.buffer += got
        if self.wanted == -1:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return False
            head = bytes(self.buffer[: end + 2])
            self.body_at = end + 4
            length = _LENGTH.search(head)
            if length:
                self.wanted = self.body_at + int(length[1])
            elif _CHUNKED.search(head):
                self.wanted = -2
            else:
                self.wanted = self.body_at
        return self.buffer.endswith(b"\r\n0\r\n\r\n") if self.wanted == -2 else len(self.buffer) >= self.wanted

    def body(self) -> bytes:
        if self.wanted != -2:
            return bytes(self.buffer[self.body_at :])
        found, rest = bytearray(), bytes(self.buffer[self.body_at :])
        while rest:
            size, rest = rest.split(b"\r\n", 1)
            found += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :] if int(size, 16) else b""
        return bytes(found)


def drive(
    port: int, requests: Sequence[bytes], connections: int = 1, seconds: float = 3600.0, *, keep: bool = False
) -> Outcome:
    """Send every request, each connection its next one as soon as it has the reply to the last; give up after `seconds`.

    `last` is the body of a connection's last reply; with `keep`, `bodies` has all of them in the order of the answers.
    """
    outcome, waiting = Outcome(), iter(requests)
    began = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        opened = [_Connection(port, seconds + 5) for _ in range(min(connections, len(requests)))]
        for one in opened:
            selector.register(one.socket, selectors.EVENT_READ, one)
            one.send(next(waiting))
        going = len(opened)
        while going:
            left = began + seconds - time.perf_counter()
            ready = selector.select(max(left, 0)) if left > 0 else []
            if not ready:
                outcome.cut = True
                break
            for key, _ in ready:
                one = key.data
                if not one.whole():
                    continue
                outcome.milliseconds.append((time.perf_counter() - one.sent) * 1000)
                outcome.statuses[int(one.buffer[9:12])] += 1
                outcome.received += len(one.buffer)
                if keep:
                    outcome.bodies.append(one.body())
                following = next(waiting, None)
                if following is None:
                    going -= 1
                    outcome.last = one.body()
                else:
                    one.send(following)
        outcome.seconds = time.perf_counter() - began
        for one in opened:
            one.socket.close()
    return outcome


@contextmanager
def empty_handler() -> Iterator[int]:
    """A process that answers every request at once; GET /N with N bytes. Gives its port."""
    process = subprocess.Popen([sys.executable, str(Path(__file__)), "answer"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def ceiling(requests: Sequence[bytes], connections: int) -> float:
    """Requests per second against the empty handler."""
    with empty_handler() as port:
        return drive(port, requests, connections).rate


def transfer(sizes: dict[str, int], repeats: int = 30) -> dict[str, float]:
    """Milliseconds (median) to get so many bytes from the empty handler: what no server of this machine can be faster than."""
    with empty_handler() as port:
        return {name: drive(port, [get(f"/{size}")] * repeats).at(0.5) for name, size in sizes.items()}


def answer() -> None:
    """The empty handler: read a request whole, answer."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    buffers: dict[socket.socket, bytearray] = {}
    ready: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    buffers[connection] = bytearray()
                    selector.register(connection, selectors.EVENT_READ)
                    continue
                connection = key.fileobj  # type: ignore[assignment]
                got = connection.recv(1 << 20)
                if not got:
                    selector.unregister(connection)
                    connection.close()
                    del buffers[connection]
                    continue
                buffer = buffers[connection]
                buffer += got
                end = buffer.find(b"\r\n\r\n")
                if end < 0:
                    continue
                length = _LENGTH.search(bytes(buffer[: end + 2]))
                if len(buffer) < end + 4 + (int(length[1]) if length else 0):
                    continue
                size = _PATH_SIZE.match(buffer)
                wanted = int(size[1]) if size else 0
                if wanted not in ready:
                    ready[wanted] = f"HTTP/1.1 200 OK\r\nContent-Length: {wanted}\r\n\r\n".encode() + b"x" * wanted
                connection.sendall(ready[wanted])
                buffer.clear()


if __name__ == "__main__" and sys.argv[1:] == ["answer"]:
    answer()
