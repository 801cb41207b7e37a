"""Play scenes against a server, read the answers back, count differences. Uses threads, with one slot each at a time.

An unanswered attempt is counted separately and repeated until the server answers; after each outage, what was acknowledged before is read
back again. `stories` decides what is right.
"""

import datetime as dt
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import msgspec

from headwater.client.ask import ask
from headwater.client.retries import Backoff
from headwater.client.watch.receipts import Ledger
from headwater.client.watch.scene import KINDS, Check, Delivery, Finding, Kind, Mismatch, Question, Scene
from headwater.client.watch.tally import Count, Report, Tally
from headwater.client.watch.world import World
from headwater.errors import HeadwaterError, NotFound, ServerUnavailable

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_KEPT_SCENES = 3
_TRY_AGAIN = frozenset({None, 429, 502, 503, 504})


class _GaveUp(Exception):
    """The watch is over, and the server did not come back."""


class _Slot(msgspec.Struct):
    """A slot's state: its latest scenes with their ledgers, and the outage up to which they were read back."""

    number: int
    recent: deque[tuple[Scene, Ledger]]
    outages: int = 0


class Watch:
    """One watch. `run` blocks until it is over; any thread may call `stop`.

    `rate`: events a second, over all threads; `patience`: seconds until an acknowledged event must be visible (an
    answer that becomes right within that time is `slow_visibility`), and seconds to wait for an unreachable server at the end.
    """

    def __init__(
        self,
        url: str,
        world: World,
        *,
        api_key: str | None = None,
        rate: float = 5.0,
        concurrency: int = 2,
        patience: float = 5.0,
        fail_fast: bool = False,
        kinds: Collection[Kind] = KINDS,
    ) -> None:
        self.tally = Tally()
        self._url, self._api_key, self._world = url, api_key, world
        self._concurrency = min(concurrency, max(1, len(world)))
        self._patience, self._fail_fast, self._kinds = patience, fail_fast, frozenset(kinds)
        self._pace = _Pace(rate)
        self._stop = threading.Event()
        self._stopped_at = float("inf")
        self._outages, self._down = 0, False
        self._slots: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        self._all = [_Slot(number, deque(maxlen=_KEPT_SCENES)) for number in range(len(world))]
        for slot in self._all:
            self._slots.put(slot)

    def stop(self) -> None:
        """End after the current scenes, and read back what was acknowledged a last time."""
        if not self._stop.is_set():
            self._stopped_at = time.monotonic()
            self._stop.set()

    def run(
        self, seconds: float | None = None, every: float = 5.0, said: Callable[[Count], None] = lambda _count: None
    ) -> Report:
        """Watch for this long (None: until `stop`). `said` gets the counters every `every` seconds.

        Raises errors that affect every request: a refused key (401, 403).
        """
        ends = time.monotonic() + seconds if seconds is not None else float("inf")
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="headwater-watch") as threads:
            futures = [threads.submit(self._run_scenes) for _ in range(self._concurrency)]
            verified = self._oversee(futures, ends, every, said)
            if verified and not (self._fail_fast and self.tally.mismatches):
                futures = [threads.submit(self._read_back, slot) for slot in self._all]
                verified = self._oversee(futures, ends, every, said)
        world = self._world
        return Report(
            self._url, world.namespace, world.mark, world.seed, self.tally.count(), verified, self.tally.examples
        )

    def _oversee(self, futures: "list[Future[None]]", ends: float, every: float, said: Callable[[Count], None]) -> bool:
        """Wait for the threads, reporting at intervals; return whether none of them gave up."""
        try:
            spoken = time.monotonic()
            while not all(future.done() for future in futures):
                wait(futures, timeout=max(0.01, min(spoken + every - time.monotonic(), ends - time.monotonic(), 0.5)))
                if any(future.done() and future.exception() for future in futures) or time.monotonic() >= ends:
                    self.stop()
                if time.monotonic() - spoken >= every:
                    spoken = time.monotonic()
                    said(self.tally.count())
        finally:
            self.stop()
        failures = [error for future in futures if (error := future.exception()) is not None]
        for error in failures:
            if not isinstance(error, _GaveUp):
                raise error.error if isinstance(error, _NotAllowed) else error
        return not failures

    # -- one thread --

    def _run_scenes(self) -> None:
        while not self._stop.is_set():
            try:
                slot = self._slots.get_nowait()
            except queue.Empty:  # fewer slots than threads
                return
            self._play(slot)
            self._slots.put(slot)

    def _play(self, slot: _Slot) -> None:
        if slot.outages != self._outages:
            self._read_back(slot)
        slot.outages = self._outages
        scene, ledger = self._world.scene(slot.number, dt.datetime.now(dt.UTC)), Ledger()
        slot.recent.append((scene, ledger))
        for delivery in scene.deliveries:
            self._deliver(scene, delivery, ledger)
        self._verify(scene, self._patience)
        self._deliver_again(scene, ledger)
        self.tally.add(scenes=1, acknowledged=len(ledger.acknowledged))

    def _read_back(self, slot: _Slot) -> None:
        """Check the latest scene's answers, and that every event of the latest scenes still exists. They were right before: no delay is allowed."""
        if slot.recent:
            self._verify(slot.recent[-1][0], patience=0.0)
        for scene, ledger in slot.recent:
            self._deliver_again(scene, ledger)

    def _deliver_again(self, scene: Scene, ledger: Ledger) -> None:
        if "receipts" in self._world.checks and ledger.acknowledged:
            self._deliver(scene, Delivery(tuple(sorted(ledger.acknowledged)), batch=True), ledger)

    def _deliver(self, scene: Scene, delivery: Delivery, ledger: Ledger) -> None:
        bodies = [scene.events[position] for position in delivery.events]
        body = b"[" + b",".join(bodies) + b"]" if delivery.batch else bodies[0]
        self._pace.wait(len(bodies), self._stop)

        def unanswered() -> None:
            ledger.unanswered(delivery)

        began = time.monotonic()
        try:
            reply = self._ask("/api/v1/lineage/batch" if delivery.batch else "/api/v1/lineage", {}, body, unanswered)
        except HeadwaterError as error:
            self._record_mismatches(scene, "receipts", ledger.refuse(delivery, error.message))
            return
        self.tally.add(sent=len(bodies))
        self.tally.took(send=time.monotonic() - began)
        self._record_mismatches(scene, "receipts", ledger.settle(delivery, reply))

    def _verify(self, scene: Scene, patience: float) -> None:
        """Ask every question; repeat those with a wrong answer until patience ends."""
        waiting, ends = list(scene.questions), time.monotonic() + patience
        late = False
        while True:
            outages = self._outages
            wrong: list[tuple[Question, list[Finding]]] = []
            for question in waiting:
                findings = self._answer(question)
                if findings:
                    wrong.append((question, findings))
                elif late:
                    self._record_mismatches(
                        scene, question.check, [("slow_visibility", f"right only later: {question.text}")]
                    )
            if not wrong:
                return
            if outages != self._outages:  # an outage does not count as slowness
                ends = time.monotonic() + patience
            elif time.monotonic() >= ends:
                for question, findings in wrong:
                    self._record_mismatches(
                        scene, question.check, [(kind, f"{words}  ({question.text})") for kind, words in findings]
                    )
                return
            else:
                late = True
            waiting = [question for question, _ in wrong]
            time.sleep(min(0.1, patience))

    def _answer(self, question: Question) -> list[Finding]:
        began = time.monotonic()
        try:
            answer = self._ask(question.path, question.params)
        except NotFound as error:
            return [(question.absent, error.message)]
        except HeadwaterError as error:
            return [("refused", error.message)]
        finally:
            self.tally.add(asked=1)
        self.tally.took(answer=time.monotonic() - began)
        return list(question.judge(answer))

    def _ask(
        self,
        path: str,
        params: dict[str, object],
        body: bytes | None = None,
        unanswered: Callable[[], None] = lambda: None,
    ) -> Any:
        """Return the decoded answer; repeat until the server answers. Raises _GaveUp after the end."""
        backoff = Backoff(_FIRST_WAIT, _LONGEST_WAIT)
        while True:
            try:
                reply = ask(self._url, path, params, self._api_key, method="GET" if body is None else "POST", body=body)
            except ServerUnavailable as error:
                if error.detail.get("status") not in _TRY_AGAIN:
                    raise
                unanswered()
                self._unreachable()
            except HeadwaterError as error:
                if error.detail.get("status") in {401, 403}:
                    raise _NotAllowed(error) from error
                raise
            else:
                self._down = False
                try:
                    return msgspec.json.decode(reply)
                except msgspec.DecodeError:
                    return None
            time.sleep(backoff.seconds())

    def _unreachable(self) -> None:
        self.tally.add(unreachable=1)
        if not self._down:
            self._down = True
            self._outages += 1
        if time.monotonic() - self._stopped_at > self._patience:
            raise _GaveUp

    def _record_mismatches(self, scene: Scene, check: Check, findings: Any) -> None:
        for kind, words in findings:
            if kind in self._kinds and check in self._world.checks:
                self.tally.mismatch(Mismatch(check, kind, scene.story, scene.slot, scene.round, words))
                if self._fail_fast:
                    self.stop()


class _NotAllowed(Exception):
    """The server refuses the key: every request would fail."""

    def __init__(self, error: HeadwaterError) -> None:
        super().__init__(error.message)
        self.error = error


class _Pace:
    """Limits the events per second, over all threads."""

    def __init__(self, rate: float) -> None:
        self._lock, self._each, self._next = threading.Lock(), 1 / rate, 0.0

    def wait(self, events: int, stop: threading.Event) -> None:
        with self._lock:
            now = time.monotonic()
            begins = max(now, self._next)
            self._next = begins + events * self._each
        if begins > now:
            stop.wait(begins - now)  # at the end all proceed
