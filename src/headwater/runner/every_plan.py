"""A worker of every plan that was applied: it goes round the running plans, the oldest first, and does what may run now."""

import threading
from collections.abc import Callable, Sequence

from headwater.errors import HeadwaterError
from headwater.runner.backfill import ItemEvent, Worker

# As long between two rounds as a person waits gladly after a click on Apply.
PAUSE = 3.0


class EveryPlan:
    """`plans`: ids of the running plans, the oldest first. `worker`: makes the worker of one; it must not wait for others (`waits=False`), or a
    plan whose window is closed would hold up the rest. `on_error`: hears of a plan (None: of all) that could not be worked on; it is tried again.
    """

    def __init__(
        self,
        plans: Callable[[], Sequence[str]],
        worker: Callable[[str, Callable[[ItemEvent], None]], Worker],
        *,
        on_event: Callable[[str, ItemEvent], None],
        on_error: Callable[[str | None, HeadwaterError], None],
        pause: float = PAUSE,
    ) -> None:
        self._plans, self._worker, self._pause = plans, worker, pause
        self._on_event, self._on_error = on_event, on_error
        self._stops = 0
        self._stopping = threading.Event()
        self._now: Worker | None = None

    def stop(self) -> None:
        """Take no more items; the second call ends running ones; the third kills them. May be called by a signal handler."""
        self._stops += 1
        self._stopping.set()
        if self._now is not None:
            self._now.stop()

    def run(self, *, once: bool = False) -> None:
        """Work until it is stopped; `once`: until a round finds nothing to do."""
        while not self._stopping.is_set():
            busy = self._round()
            if once and not busy:
                return
            if not busy:
                self._stopping.wait(self._pause)

    def _round(self) -> bool:
        """Work on each running plan as far as it goes now. True if anything ran or was skipped."""
        busy = False

        def report(event: ItemEvent) -> None:
            nonlocal busy
            busy = True
            self._on_event(plan, event)

        try:
            plans = self._plans()
        except HeadwaterError as error:
            self._on_error(None, error)
            return False
        for plan in plans:
            if self._stopping.is_set():
                break
            self._now = self._worker(plan, report)
            try:
                self._now.run_items()
            except HeadwaterError as error:
                self._on_error(plan, error)
            finally:
                self._now = None
        return busy
