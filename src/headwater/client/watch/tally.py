"""The watcher's counters: sent, asked, and every mismatch by check and kind. Thread-safe."""

import threading
import time
from collections import Counter

import msgspec

from headwater.client.watch.scene import Mismatch

_EXAMPLES = 100
_REMEMBERED = 10_000


class Count(msgspec.Struct, frozen=True):
    """The counters at one moment. `unreachable`: unanswered attempts, which are not mismatches by themselves."""

    seconds: float
    scenes: int
    sent: int
    acknowledged: int
    asked: int
    unreachable: int
    slowest_send_ms: int
    slowest_answer_ms: int
    mismatches: int
    by_kind: dict[str, int]
    by_check: dict[str, int]


class Tally:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self.scenes = self.sent = self.acknowledged = self.asked = self.unreachable = 0
        self.slowest_send = self.slowest_answer = 0.0
        self.examples: list[Mismatch] = []
        self._known: set[Mismatch] = set()
        self._by_kind: Counter[str] = Counter()
        self._by_check: Counter[str] = Counter()

    @property
    def mismatches(self) -> int:
        return self._by_kind.total()

    def add(self, **counts: int) -> None:
        """Increase `scenes`, `sent`, `acknowledged`, `asked` or `unreachable`."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def took(self, *, send: float = 0.0, answer: float = 0.0) -> None:
        """Record that a request took this many seconds."""
        with self._lock:
            self.slowest_send = max(self.slowest_send, send)
            self.slowest_answer = max(self.slowest_answer, answer)

    def mismatch(self, found: Mismatch) -> None:
        """Count a mismatch once: finding it again when reading back does not count."""
        with self._lock:
            if found in self._known:
                return
            if len(self._known) < _REMEMBERED:
                self._known.add(found)
            self._by_kind[found.kind] += 1
            self._by_check[found.check] += 1
            if len(self.examples) < _EXAMPLES:
                self.examples.append(found)

    def count(self) -> Count:
        with self._lock:
            return Count(
                round(time.monotonic() - self._began, 1), self.scenes, self.sent, self.acknowledged, self.asked,
                self.unreachable, round(self.slowest_send * 1000), round(self.slowest_answer * 1000),
                self._by_kind.total(), dict(sorted(self._by_kind.items())), dict(sorted(self._by_check.items())),
            )  # fmt: skip


class Report(msgspec.Struct, frozen=True):
    """The end of a watch: the counters, whether everything could be verified, and the first mismatches."""

    url: str
    namespace: str
    mark: str
    seed: int
    count: Count
    verified: bool
    examples: list[Mismatch]

    @property
    def ok(self) -> bool:
        return self.verified and not self.count.mismatches
