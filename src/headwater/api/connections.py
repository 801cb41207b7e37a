"""Keeps connections of clients that send nothing from shutting out the others. Linux only; elsewhere Granian's own limit applies.

Granian accepts connections up to its `backpressure`, without regard to who holds them. A thread of each server process looks at the process's
sockets and shuts down the excess: of an address with more than its share, and of all when they come near the limit. The first to go are those that
have waited longest without an answer, but for those whose whole request is being answered. A connection that is shut down by mistake costs its
client a retry.
"""

import contextlib
import ipaddress
import os
import socket
import stat
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from headwater import telemetry

_SOCKETS = Path("/proc/self/fd")
_LOOK_SECONDS = 0.5
# An answer that takes this long is not a sign of a client that sends nothing.
_YOUNG_SECONDS = 2.0
# Shares of the limit: beyond the first, connections are shut down to the second, so that new ones always get in.
_FULL, _RELIEVED = 0.9, 0.7
# Offsets in struct tcp_info (linux/tcp.h): milliseconds since data came, and how many segments with data were sent.
_LAST_DATA_RECEIVED, _DATA_SEGMENTS_SENT = 52, 156


def parse_networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Addresses and networks separated by commas. Raises ValueError."""
    return tuple(ipaddress.ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())


class _Connection(NamedTuple):
    inode: int
    address: str
    port: int
    since: float


class ConnectionGuard:
    """Watches the connections to one port of this process.

    `total`: connections that the process accepts. `per_address`: of one address, unless it is in `trusted`. `answering`: addresses and ports of
    clients whose request is being answered.
    """

    def __init__(
        self,
        port: int,
        total: int,
        per_address: int,
        trusted: Iterable[str] = (),
        answering: Collection[tuple[str, int]] = (),
    ) -> None:
        self._answering = answering
        self._port, self._total, self._per_address = port, total, per_address
        self._trusted = parse_networks(",".join(trusted))
        self._known: dict[int, _Connection] = {}
        self._others: dict[int, int] = {}
        self._ended = threading.Event()

    def start(self) -> Callable[[], None]:
        """Watch until the returned function is called."""
        thread = threading.Thread(target=self._watch, name="connections", daemon=True)
        if _SOCKETS.is_dir():
            thread.start()
        return self._ended.set

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            with contextlib.suppress(OSError):
                self.look()

    def look(self) -> int:
        """Look once. Returns how many connections were shut down."""
        descriptors = [int(entry.name) for entry in os.scandir(_SOCKETS)]
        if len(descriptors) < min(self._per_address, self._total * _RELIEVED):
            self._known.clear()
            self._others.clear()
            return 0
        self._learn(descriptors)
        by_address = defaultdict(list)
        for descriptor, connection in self._known.items():
            by_address[connection.address].append(descriptor)
        shut = 0
        for address, held in by_address.items():
            excess = len(held) - self._per_address
            if excess > 0 and not self._is_trusted(address):
                shut += self._shut(address, held, excess)
        if len(self._known) > self._total * _FULL:
            shut += self._shut("all addresses", list(self._known), len(self._known) - int(self._total * _RELIEVED))
        return shut

    def _learn(self, descriptors: Iterable[int]) -> None:
        """Bring `_known` up to date with the descriptors of accepted connections."""
        now = time.monotonic()
        known: dict[int, _Connection] = {}
        others: dict[int, int] = {}
        for descriptor in descriptors:
            try:
                status = os.fstat(descriptor)
            except OSError:
                continue
            former = self._known.get(descriptor)
            if former is not None and former.inode == status.st_ino:
                known[descriptor] = former
            elif not stat.S_ISSOCK(status.st_mode) or self._others.get(descriptor) == status.st_ino:
                others[descriptor] = status.st_ino
            elif (peer := self._peer(descriptor)) is not None:
                known[descriptor] = _Connection(status.st_ino, *peer, now)
            else:
                others[descriptor] = status.st_ino
        self._known, self._others = known, others

    def _peer(self, descriptor: int) -> tuple[str, int] | None:
        """The client's address and port; None for a socket that is no connection to the port."""
        with contextlib.suppress(OSError), _duplicate(descriptor) as connection:
            if connection.family in {socket.AF_INET, socket.AF_INET6} and connection.getsockname()[1] == self._port:
                address, port, *_ = connection.getpeername()
                return str(address), int(port)
        return None

    def _is_trusted(self, address: str) -> bool:
        return any(ipaddress.ip_address(address.partition("%")[0]) in network for network in self._trusted)

    def _shut(self, whose: str, descriptors: Iterable[int], excess: int) -> int:
        """Shut down `excess` connections: first those never answered, the longest without data; then the longest idle."""
        now = time.monotonic()
        candidates = []
        for descriptor in descriptors:
            connection = self._known[descriptor]
            if (connection.address, connection.port) in self._answering:
                continue
            age = now - connection.since
            if age >= _YOUNG_SECONDS and (idle := self._idle(descriptor)) is not None:
                answered, milliseconds = idle
                candidates.append((answered, -max(age * 1000 if not answered else 0, milliseconds), descriptor))
        shut = 0
        for _, _, descriptor in sorted(candidates)[:excess]:
            with contextlib.suppress(OSError), _duplicate(descriptor) as duplicate:
                if os.fstat(duplicate.fileno()).st_ino == self._known[descriptor].inode:
                    duplicate.shutdown(socket.SHUT_RDWR)
                    shut += 1
            del self._known[descriptor]
        if shut:
            telemetry.say(telemetry.ConnectionsClosed(whose, shut))
        return shut

    def _idle(self, descriptor: int) -> tuple[bool, int] | None:
        """Return whether the connection was ever answered, and the milliseconds since data came; None if it is gone."""
        with contextlib.suppress(OSError), _duplicate(descriptor) as connection:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            if len(info) >= _DATA_SEGMENTS_SENT + 4:
                (last,) = struct.unpack_from("=I", info, _LAST_DATA_RECEIVED)
                (sent,) = struct.unpack_from("=I", info, _DATA_SEGMENTS_SENT)
                return sent > 0, last
        return None


def _duplicate(descriptor: int) -> socket.socket:
    """A socket of its own for the same connection: closing it leaves the server's open."""
    return socket.socket(fileno=os.dup(descriptor))


def raise_descriptor_limit(connections: int) -> int:
    """Let the process open files for so many connections. Returns how many it can have."""
    import resource

    spare = 512
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + spare
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(64, min(connections, soft - spare))
