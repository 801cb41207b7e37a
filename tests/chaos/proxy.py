"""A TCP proxy that misbehaves when told to: refuses, cuts in mid-stream, delays, swallows."""

import contextlib
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Literal

Mode = Literal["open", "refuse", "cut", "delay", "blackhole"]
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close sends RST
_LOOK = 0.1  # seconds until a change of mode is seen
_DELAY = 0.3


class Link:
    """One connection through the proxy. `left`: bytes until it is cut."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near, self.far = near, far
        self.left: int | None = None
        self.over = False

    def reset(self) -> None:
        self.over = True
        for one in (self.near, self.far):
            with contextlib.suppress(OSError):
                if one.family != socket.AF_UNIX:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Proxy:
    """Listens at `port` of this machine and hands on to one of `targets`, drawn for each connection, of which one answers: ports of this machine,
    or paths of Unix sockets.
    """

    def __init__(self, targets: Sequence[int | str], seed: int) -> None:
        self._targets = targets
        self._draw = random.Random(seed)
        self._mode: Mode = "open"
        self._over = False
        self._lock = threading.Lock()
        self._links: set[Link] = set()
        self._listener: socket.socket | None = self._listening(0)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def become(self, mode: Mode) -> None:
        """Applies from now on. A swallowed client may find the way open again, or the connection gone, as after a real outage."""
        with self._lock:
            swallowed = self._mode == "blackhole"
            self._mode = mode
            for link in list(self._links):
                link.left = self._draw.randrange(1, 20_000) if mode == "cut" else None
                if mode == "refuse" or (swallowed and self._draw.random() < 0.5):
                    link.reset()

    def close(self) -> None:
        self._over = True
        self._thread.join()
        with self._lock:
            for link in list(self._links):
                link.reset()

    def _listening(self, port: int) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(64)
        return made

    def _accept(self) -> None:
        while not self._over:
            if self._mode == "refuse":
                if self._listener is not None:
                    self._listener.close()
                    self._listener = None
                time.sleep(_LOOK)
                continue
            if self._listener is None:
                self._listener = self._listening(self.port)
            if select.select([self._listener], [], [], _LOOK)[0]:
                near, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()
        if self._listener is not None:
            self._listener.close()

    def _serve(self, near: socket.socket) -> None:
        while self._mode == "blackhole" and not self._over:
            time.sleep(_LOOK)  # the connection was made, and nothing answers
        for target in self._draw.sample(self._targets, len(self._targets)):
            far = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
            try:
                far.connect(target if isinstance(target, str) else ("127.0.0.1", target))
                break
            except OSError:
                far.close()
        else:
            Link(near, far).reset()
            return
        link = Link(near, far)
        with self._lock:
            self._links.add(link)
            if self._mode == "cut":
                link.left = self._draw.randrange(1, 20_000)
        other = threading.Thread(target=self._pump, args=(link, far, near), daemon=True)
        other.start()
        self._pump(link, near, far)
        other.join()
        link.reset()
        with self._lock:
            self._links.discard(link)

    def _pump(self, link: Link, source: socket.socket, sink: socket.socket) -> None:
        try:
            while not link.over and not self._over:
                if not select.select([source], [], [], _LOOK)[0]:
                    continue
                data = source.recv(65536)
                while self._mode == "blackhole" and not link.over and not self._over:
                    time.sleep(_LOOK)
                if self._mode == "delay":
                    time.sleep(_DELAY)
                if not data:
                    sink.shutdown(socket.SHUT_WR)
                    return
                if link.left is not None and len(data) >= link.left:
                    sink.sendall(data[: link.left])
                    link.reset()
                    return
                if link.left is not None:
                    link.left -= len(data)
                sink.sendall(data)
        except (OSError, ValueError):  # closed under us, by the other direction or by a change of mode
            link.over = True
