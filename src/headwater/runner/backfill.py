"""Work on a plan: take items, run them, report their end. Any number of workers may run at once, and any of them may be killed.

The server knows a run before it begins, and a worker that takes over an item first checks the outcome of its run. An unanswered call is
repeated until it is answered, which never repeats a run. The server decides which item is next and whether one is right.
"""

import enum
import time
from collections.abc import Callable, Sequence

import msgspec

from headwater.errors import HeadwaterError
from headwater.runner.executors import Executor, Going, Outcome, able
from headwater.runner.plans import Item, PlanOnServer, Work

_TICK = 0.05
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_AFTER_SILENCE = 1.0
_OVER = {"done", "failed", "cancelled", "planned"}


class What(enum.StrEnum):
    """The events of a worker. `again`: released without an outcome; `lost`: another worker has it."""

    runs = "runs"
    watches = "watches"
    done = "done"
    failed = "failed"
    again = "again"
    lost = "lost"
    skipped = "skipped"
    waits = "waits"
    unanswered = "unanswered"


class ItemEvent(msgspec.Struct, frozen=True):
    """An event of an item. `count`: of `skipped` items; `note`: the reason, if any."""

    what: What
    item: Item | None = None
    run: str = ""
    note: str = ""
    count: int = 1


class _One:
    """An item of this worker and its progress."""

    def __init__(self, item: Item, executor: Executor) -> None:
        self.item, self.executor = item, executor
        self.run = ""
        self.going: Going | None = None
        self.refused: Outcome | None = None
        self.watched = False
        self.lost = False
        self.stopped = False
        self.renew_at = 0.0
        self.ended_at: float | None = None
        self.ask_at = 0.0

    def outcome(self) -> Outcome | None:
        if self.refused is not None:
            return self.refused
        return self.going.poll() if self.going is not None else None


class Worker:
    """A worker of one plan. `name`: under which it takes items; `numbers`: take only these, if given; `parallel`: items at once; `lease`: seconds
    after which an item that was not renewed is released; `patience`: seconds without an answer after which it gives up on the server; `waits`:
    wait while others run what comes before. Calls `on_event` with every event.
    """

    def __init__(
        self,
        plan: PlanOnServer,
        executors: Sequence[Executor],
        *,
        name: str,
        numbers: Sequence[int] | None = None,
        parallel: int = 1,
        lease: float = 60.0,
        patience: float = 600.0,
        waits: bool = True,
        on_event: Callable[[ItemEvent], None] = lambda _: None,
    ) -> None:
        self._plan, self._name, self._parallel = plan, name, parallel
        self._numbers = None if numbers is None else list(numbers)
        self._lease, self._patience, self._on_event = lease, patience, on_event
        self._waits = waits
        self._executors = executors
        self._producers = [producer for each in executors for producer in each.producers]
        self._actions = sorted({action for each in executors for action in each.actions})
        self._ours: list[_One] = []
        self._asked_to_stop, self._passed_on = 0, 1
        self._take_at, self._pause = 0.0, _FIRST_PAUSE
        self._silent_since: float | None = None
        self._waiting: str | None = None  # the last reported reason for waiting

    def stop(self) -> None:
        """Take no more items; the second call ends running ones; the third kills them. May be called by a signal handler."""
        self._asked_to_stop += 1

    def run_items(self) -> str:
        """Run until no item is left for this worker. Returns the plan's `done`, `failed` or `cancelled`, `left` if only others can do the rest,
        `waiting` if it does not wait and nothing may run yet, or `stopped`.

        Waits for running items. Raises what the server refuses, and ServerUnavailable if it was unavailable for too long: running items have ended
        then, and are taken again later, and skipped if they are right.
        """
        ended: str | None = None
        while True:
            try:
                for one in list(self._ours):
                    self._step(one)
                if not self._asked_to_stop and len(self._ours) < self._parallel and time.monotonic() >= self._take_at:
                    ended = self._take()
                self._silent_since = None
            except HeadwaterError as error:
                if error.permanent or self._silent_for() > self._patience or self._asked_to_stop > 1:
                    self._let_end()
                    raise
                if self._silent_since is None:
                    self._silent_since = time.monotonic()
                    self._on_event(ItemEvent(What.unanswered, note=error.message))
                time.sleep(_AFTER_SILENCE)
            if not self._ours and (ended is not None or self._asked_to_stop):
                return ended or "stopped"
            self._pass_on()
            time.sleep(_TICK)

    def _silent_for(self) -> float:
        return 0.0 if self._silent_since is None else time.monotonic() - self._silent_since

    def _take(self) -> str | None:
        """Take items. Return how the plan ended, if there is nothing to wait for."""
        free = self._parallel - len(self._ours)
        work = self._plan.take(
            self._name,
            limit=free,
            lease=self._lease,
            producers=self._producers,
            actions=self._actions,
            numbers=self._numbers,
        )
        if work.skipped:
            self._on_event(ItemEvent(What.skipped, count=work.skipped))
        if work.items:
            self._pause, self._waiting = _FIRST_PAUSE, None
            self._ours += [_One(item, self._of(item)) for item in work.items]
            return None
        self._take_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE)
        if work.state in _OVER:
            return work.state
        if not work.wait:
            return "left"
        if not self._waits:
            return "waiting"
        self._say_it_waits(work)
        return None

    def _of(self, item: Item) -> Executor:
        return next(each for each in self._executors if able(each, item))

    def _say_it_waits(self, work: Work) -> None:
        note = "the plan is paused" if work.state == "paused" else opens_at(work.opens) if work.opens else ""
        if not self._ours and note != self._waiting:
            self._waiting = note
            self._on_event(ItemEvent(What.waits, note=note))

    def _step(self, one: _One) -> None:
        """Advance as far as possible without waiting. A step that raises is repeated."""
        if one.going is None and one.refused is None:
            if self._asked_to_stop:
                self._plan.give_back(one.item)
                self._over(one, ItemEvent(What.again, one.item))
                return
            if not self._begin(one):
                return
        outcome = one.outcome()
        if outcome is not None and self._end(one, outcome):
            return
        if not one.lost and time.monotonic() >= one.renew_at:
            one.lost = not self._plan.renew(one.item, one.run, self._lease)
            one.renew_at = time.monotonic() + self._lease / 3
            if one.lost:  # longer away than the lease: another worker may run the item
                _stop(one)

    def _begin(self, one: _One) -> bool:
        """Begin an item. False if another worker has it."""
        item = one.item
        earlier = one.executor.earlier(item) if item.before else None
        one.run = item.before if earlier is not None else one.run or one.executor.named(item)
        if not self._plan.renew(item, one.run, self._lease):
            self._over(one, ItemEvent(What.lost, item, one.run))
            return False
        one.renew_at = time.monotonic() + self._lease / 3
        if earlier is not None:
            one.going, one.watched = earlier, True
            self._on_event(ItemEvent(What.watches, item, one.run))
            return True
        try:
            one.going = one.executor.start(item, one.run)
        except (HeadwaterError, OSError) as error:
            if isinstance(error, HeadwaterError) and not error.permanent:
                raise
            one.refused = Outcome(True, str(error), one.run)
        else:
            self._on_event(ItemEvent(What.runs, item, one.run))
        return True

    def _end(self, one: _One, outcome: Outcome) -> bool:
        """End an item. False if its report may still come."""
        item = one.item
        if one.lost:
            self._over(one, ItemEvent(What.lost, item, one.run))
            return True
        now = time.monotonic()
        one.ended_at = one.ended_at or now
        late = now >= one.ended_at + outcome.reports_within
        # What another worker began and this one watched is run again only once its report can no longer come.
        if (one.stopped and outcome.failed) or (one.watched and (one.stopped or outcome.failed or late)):
            self._plan.give_back(item)
            self._over(one, ItemEvent(What.again, item, one.run))
            return True
        if now < one.ask_at:
            return False
        settled = not one.watched and (outcome.failed or one.stopped or late)
        ended = self._plan.end(item, failed=outcome.failed, run=outcome.run, note=outcome.note, settled=settled)
        if ended is not None and ended.item == "running":
            one.ask_at = now + 1.0
            return False
        if ended is None:
            self._over(one, ItemEvent(What.lost, item, one.run))
        else:
            what = What.failed if ended.item == "failed" else What.done
            self._over(one, ItemEvent(what, item, outcome.run, ended.note))
        return True

    def _over(self, one: _One, event: ItemEvent) -> None:
        self._ours.remove(one)
        self._take_at, self._pause = 0.0, _FIRST_PAUSE
        self._on_event(event)

    def _let_end(self) -> None:
        """Let begun items end, without asking the server any more."""
        while any(one.going is not None and one.outcome() is None for one in self._ours):
            self._pass_on()
            time.sleep(_TICK)

    def _pass_on(self) -> None:
        """Pass a second or third stop request on to running items."""
        if self._asked_to_stop > self._passed_on:
            self._passed_on += 1
            for one in self._ours:
                _stop(one)


def opens_at(opens: str) -> str:
    """Say why no item starts before that time."""
    return f"the plan's window opens at {opens}"


def _stop(one: _One) -> None:
    one.stopped = True
    if one.going is not None:
        one.going.stop()
