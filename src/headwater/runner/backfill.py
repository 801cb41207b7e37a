"""Work a plan off: take items, run them, say that they are over. Any number of workers may do so at once, and any of them may be killed.

What was begun is known to the server before it begins, and a worker that takes over an item looks first at what became of its
run. Nothing is repeated here because a call went unanswered: each step is done again until it is answered. Refuses to decide which item is next and
whether one is right: the server does.
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
    """What a worker tells of. `again`: given back, with nothing said of how it went; `lost`: another worker has it."""

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
    """`count` of `skipped` items; `note`: why, where something is to be said."""

    what: What
    item: Item | None = None
    run: str = ""
    note: str = ""
    count: int = 1


class _One:
    """An item of ours and how far it has come."""

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
    """Of one plan. `name`: who takes items; `numbers`: only these, where that is said; `parallel`: how many at once; `lease`: seconds after which
    others may have an item that was not renewed; `patience`: seconds without an answer of the server after which it is given up. `told` is called
    with everything that happens.
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
        told: Callable[[ItemEvent], None] = lambda _: None,
    ) -> None:
        self._plan, self._name, self._parallel = plan, name, parallel
        self._numbers = None if numbers is None else list(numbers)
        self._lease, self._patience, self._told = lease, patience, told
        self._executors = executors
        self._producers = [producer for each in executors for producer in each.producers]
        self._actions = sorted({action for each in executors for action in each.actions})
        self._ours: list[_One] = []
        self._asked_to_stop, self._passed_on = 0, 1
        self._take_at, self._pause = 0.0, _FIRST_PAUSE
        self._silent_since: float | None = None
        self._waiting: str | None = None  # what was said to be waited for

    def stop(self) -> None:
        """Take nothing more; a second time: end what is running; a third: at once. May be called by a signal's handler."""
        self._asked_to_stop += 1

    def work(self) -> str:
        """Until nothing is left for it: `done`, `failed` or `cancelled` as the plan is then; `left`: what remains only others can do; `stopped`.

        Runs that are going on are waited for. Raises what the server refuses, and ServerUnavailable where it was away for too long: what was
        running then has ended, and is taken again, and skipped where it is right.
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
                    self._told(ItemEvent(What.unanswered, note=error.message))
                time.sleep(_AFTER_SILENCE)
            if not self._ours and (ended is not None or self._asked_to_stop):
                return ended or "stopped"
            self._pass_on()
            time.sleep(_TICK)

    def _silent_for(self) -> float:
        return 0.0 if self._silent_since is None else time.monotonic() - self._silent_since

    def _take(self) -> str | None:
        """How it ended, where there is nothing more to wait for."""
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
            self._told(ItemEvent(What.skipped, count=work.skipped))
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
        self._say_it_waits(work)
        return None

    def _of(self, item: Item) -> Executor:
        return next(each for each in self._executors if able(each, item))

    def _say_it_waits(self, work: Work) -> None:
        note = "the plan is paused" if work.state == "paused" else opens_at(work.opens) if work.opens else ""
        if not self._ours and note != self._waiting:
            self._waiting = note
            self._told(ItemEvent(What.waits, note=note))

    def _step(self, one: _One) -> None:
        """As far as it comes without waiting. What raises is done again."""
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
            if one.lost:  # we were away for longer than the lease: what we run is another's to run
                _stop(one)

    def _begin(self, one: _One) -> bool:
        """False where the item is no longer ours."""
        item = one.item
        earlier = one.executor.earlier(item) if item.before else None
        one.run = item.before if earlier is not None else one.run or one.executor.named(item)
        if not self._plan.renew(item, one.run, self._lease):
            self._over(one, ItemEvent(What.lost, item, one.run))
            return False
        one.renew_at = time.monotonic() + self._lease / 3
        if earlier is not None:
            one.going, one.watched = earlier, True
            self._told(ItemEvent(What.watches, item, one.run))
            return True
        try:
            one.going = one.executor.start(item, one.run)
        except (HeadwaterError, OSError) as error:
            if isinstance(error, HeadwaterError) and not error.permanent:
                raise
            one.refused = Outcome(True, str(error), one.run)
        else:
            self._told(ItemEvent(What.runs, item, one.run))
        return True

    def _end(self, one: _One, outcome: Outcome) -> bool:
        """False where what it made may still be reported."""
        item = one.item
        if one.lost:
            self._over(one, ItemEvent(What.lost, item, one.run))
            return True
        if one.watched or (one.stopped and outcome.failed):
            self._plan.give_back(item)
            self._over(one, ItemEvent(What.again, item, one.run))
            return True
        now = time.monotonic()
        one.ended_at = one.ended_at or now
        if now < one.ask_at:
            return False
        settled = outcome.failed or one.stopped or now >= one.ended_at + outcome.reports_within
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

    def _over(self, one: _One, told: ItemEvent) -> None:
        self._ours.remove(one)
        self._take_at, self._pause = 0.0, _FIRST_PAUSE
        self._told(told)

    def _let_end(self) -> None:
        """The server is not to be asked any more; what was begun ends."""
        while any(one.going is not None and one.outcome() is None for one in self._ours):
            self._pass_on()
            time.sleep(_TICK)

    def _pass_on(self) -> None:
        """Being asked a second time, or a third, to what is running."""
        if self._asked_to_stop > self._passed_on:
            self._passed_on += 1
            for one in self._ours:
                _stop(one)


def opens_at(opens: str) -> str:
    """Why nothing is handed out before that time."""
    return f"the plan's window opens at {opens}"


def _stop(one: _One) -> None:
    one.stopped = True
    if one.going is not None:
        one.going.stop()
