"""Work a plan off: hand out the items that may be done now, and write down what became of them. What an item runs is the worker's to know.

Any number of workers may take items of any number of plans. Every step is one transaction under the lock of status, so an item is handed out once,
two plans never make one instance at the same time, and what somebody else has made right meanwhile is skipped. A worker that is gone leaves a lease
that ends; who takes the item then is told the attempt, and the run that the other had begun.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.entities.declaration.held import Held
from headwater.entities.plans import priority
from headwater.entities.plans.plan import Item, Plan
from headwater.entities.plans.ready_items import free
from headwater.entities.plans.serialization import Inputs
from headwater.entities.status.marks import Mark
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan, NotFound
from headwater.intake.plans.plans import WantedPlan, kept
from headwater.intake.plans.restores import Restoring, ready
from headwater.intake.status.held_marks import united, windows
from headwater.intake.status.incidents import Wrong, listed
from headwater.intake.status.ledger import Ledger
from headwater.store import plans as store
from headwater.store.database import Connection, Database
from headwater.store.status import status as status_store

_LOOKED_AT = 2000
"""Items that are looked at in one go: those whose turn is first are ready first."""

_OTHERWISE = "what its version was made from is not what there is now, or the version is not known to be right any more; make a new plan"

_request = msgspec.json.Decoder(WantedPlan)


class TakenItem(msgspec.Struct, frozen=True):
    """An item to do. `runs`: periods of the producer, with `start` and `end` of the first to the last; `before`: the run of an attempt that was
    given up, which may still be going on. `restore`: of an item that restores, what goes back to what.
    """

    plan: uuid.UUID
    number: int
    attempt: int
    action: str
    producer: str | None
    makes: list[Wrong]
    runs: list[str]
    start: dt.datetime | None
    end: dt.datetime | None
    roots: bool
    before: str
    restore: list[Restoring]


class Work(msgspec.Struct, frozen=True):
    """`state`: of the plan. `wait`: there will be more by itself, when what is running is done, here or in another plan, or the plan goes on; not
    where only others can do what may be done now, nor, of items by number, where nothing of the plan is running. `skipped`: how many turned out to
    be right already. `opens`: when the window of a plan that runs does; null where it is open.
    """

    state: str
    items: list[TakenItem]
    skipped: int
    wait: bool
    opens: dt.datetime | None = None


class EndedItem(msgspec.Struct, frozen=True):
    """`item`: done, failed (`note` says why), skipped, or running on. `plan`: its state now."""

    item: str
    note: str
    plan: str


class _Plan(NamedTuple):
    row: store.KeptPlan
    held: Held
    plan: Plan
    inputs: Inputs
    items: dict[int, store.KeptItem]

    @property
    def over(self) -> Ordinals:
        return Ordinals.of([number for number, one in self.items.items() if one.state in {"done", "skipped"}])


async def steer(database: Database, id_: uuid.UUID, what: str) -> str:
    """`apply` (or `resume`), `pause`, `cancel`, `retry` (what failed may be taken again); the state then. InvalidPlan where that makes no sense."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        at = await _load(connection, id_)
        state = at.row.state
        if state in {"cancelled", "done"} or (what == "pause" and state != "running"):
            raise InvalidPlan(f"the plan is {state}, so that there is nothing to {what}", plan=str(id_), state=state)
        if what == "retry":
            await store.again(connection, id_)
        become: store.State = {"pause": "paused", "cancel": "cancelled"}.get(what, "running")  # type: ignore[assignment]
        if what == "cancel":
            await _forget(ledger, at, "cancelled")
            await ledger.flush()
        await store.become(connection, id_, become)
        return become


async def take(
    database: Database,
    id_: uuid.UUID,
    worker: str,
    *,
    limit: int = 1,
    lease_seconds: float = 3600.0,
    producers: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    numbers: Sequence[int] | None = None,
) -> Work:
    """Up to so many items that may be done now, all they need being done; of these producers, actions and numbers only, where that is said."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        at = await _load(connection, id_)
        if at.row.state != "running":
            return Work(at.row.state, [], 0, at.row.state == "paused")
        now = ledger.now
        request = _request.decode(at.row.request)
        opens = request.window.opens(now) if request.window is not None else None
        running = [one for number, one in at.items.items() if _going(one, now) and number < at.plan.count]
        going = [at.plan.item(one.number) for one in running]
        busy = Counter(item.producer or "" for item in going)
        taken, skipped, stuck = list[TakenItem](), list[store.Ended](), list[Item]()
        over, held_back, others = at.over, False, False
        back: dict[int, list[Restoring] | None] = {}
        for some in _open(at, now, numbers):
            if taken or skipped or stuck or held_back:
                break
            fresh = await _looked_up(connection, ledger, at, some)
            back |= await ready(
                connection,
                at.held,
                at.inputs,
                some if actions is None or "restore" in actions else [],
                ledger.seq,
                trust=request.trust_stored,
            )
            for item in some:
                if not item.needs <= over:
                    continue
                if _right(at, ledger, item, fresh):
                    skipped.append(_ended(at, item, "skipped", worker, "it was right already"))
                    _unmark(ledger, at, item)  # of a worker that was gone before it could say that it is done
                    over |= Ordinals.between(item.number, item.number + 1)
                    continue
                producer = item.producer or ""
                full = _full(request, busy, producer, len(running) + len(taken))
                elsewhere = _elsewhere(at, ledger, item)
                # What is restored is made by no producer.
                among = producers is None or item.action == "restore" or _among(producer, producers)
                asked = (
                    among
                    and (actions is None or item.action in actions)
                    and (numbers is None or item.number in numbers)
                )
                restore = back.get(item.number, [])
                if not asked:
                    others = True
                elif opens or full or elsewhere or len(taken) >= limit or (item.action == "restore" and restore == []):
                    held_back = True
                elif restore is None:
                    stuck.append(item)
                else:
                    busy[producer] += 1
                    until = now + dt.timedelta(seconds=lease_seconds)
                    taken.append(await _begin(connection, ledger, at, item, worker, until, restore))
        if stuck and (any(back.values()) or any(item.action == "restore" for item in going)):
            held_back, stuck = True, []  # what they were made from may be about to go back
        failed = [_ended(at, item, "failed", worker, _OTHERWISE) for item in stuck]
        await store.end(connection, id_, [*skipped, *failed])
        state: str = at.row.state
        if (
            not taken
            and not held_back
            and not others
            and not running
            and (numbers is None or over.count >= at.plan.count)
        ):
            state = await _finish(connection, at, bool(failed), len(over.members()))
        await ledger.flush()
        only_others = (others or numbers is not None) and not held_back and not running and not skipped
        return Work(state, taken, len(skipped), state == "running" and not taken and not only_others, opens)


def _full(request: WantedPlan, busy: Mapping[str, int], producer: str, going: int) -> bool:
    """Whether as many go on as may, of a producer or of all."""
    total = request.total is not None and going >= request.total
    return total or busy[producer] >= request.limits.get(producer, 2**31)


async def renew(
    database: Database, id_: uuid.UUID, number: int, attempt: int, *, run: str = "", lease_seconds: float = 3600.0
) -> bool:
    """The worker is still at it, with this run. False where somebody else has the item, or it is over: stop."""
    async with database.transaction() as connection:
        until = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=lease_seconds)
        return await store.renew(connection, id_, number, attempt, until, run)


async def end(
    database: Database,
    id_: uuid.UUID,
    number: int,
    attempt: int,
    *,
    failed: bool = False,
    run: str = "",
    note: str = "",
    settled: bool = True,
) -> EndedItem:
    """The worker is done with an item. It is `done` only where its instances are right now; otherwise it failed, and so it says; or, where it is not
    `settled` and what it made may still be reported, it is `running` on.

    InvalidPlan where another attempt has the item, or nobody has; the same said twice is no mistake.
    """
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        at = await _load(connection, id_)
        one = at.items.get(number)
        if one is None or one.attempt != attempt:
            raise InvalidPlan(
                f"item {number} is not being worked on in attempt {attempt}",
                plan=str(id_),
                number=number,
                attempt=attempt,
            )
        if one.state != "running":
            return EndedItem(one.state, one.note, at.row.state)
        item = at.plan.item(number)
        fresh = await _looked_up(connection, ledger, at, [item])
        right = _right(at, ledger, item, fresh)
        if not right and not failed and not settled:
            return EndedItem("running", "", at.row.state)
        state = "done" if right and not failed else "failed"
        if not right and not failed:
            note = f"its run ended, and not all it was to make is right: {_lacking(at, ledger, item, fresh)}"
        ended = store.Ended(number, state, attempt, one.worker, run, note)
        await store.end(connection, id_, [ended])
        _unmark(ledger, at, item)
        await ledger.flush()
        plan_state = at.row.state
        if plan_state == "running" and state == "done" and len(at.over.members()) + 1 >= at.plan.count:
            plan_state = "done"
            await store.become(connection, id_, "done")
        return EndedItem(state, note, plan_state)


async def _load(connection: Connection, id_: uuid.UUID) -> _Plan:
    row = await store.locked(connection, id_)
    if row is None:
        raise NotFound(f"there is no plan {id_}; `headwater backfill list` shows those there are", plan=str(id_))
    held, found, inputs = await kept(connection, row)
    return _Plan(row, held, found, inputs, {one.number: one for one in await store.items(connection, id_)})


def _among(producer: str, wanted: Sequence[str]) -> bool:
    return any(producer == each or (each.endswith("*") and producer.startswith(each[:-1])) for each in wanted)


def _going(one: store.KeptItem, now: dt.datetime) -> bool:
    return one.state == "running" and one.lease_until is not None and one.lease_until > now


def _open(at: _Plan, now: dt.datetime, wanted: Sequence[int] | None) -> Iterator[list[Item]]:
    """The first in turn that nobody works on and nothing has become of; of those wanted, and of what these need, which may be right by now. Then,
    where there are more, the first of each turn that wait for nobody else's: the others may all wait for what failed.
    """
    shut = Ordinals.of([number for number, one in at.items.items() if one.state != "running" or _going(one, now)])
    left = Ordinals.between(0, at.plan.count) - shut
    if wanted is not None:
        asked = left & Ordinals.of(wanted)
        left &= asked.union(*(at.plan.item(number).needs for number in asked.members()))
    yield [at.plan.item(number) for number in priority.first(at.plan.turns, left, _LOOKED_AT)]
    if left.count > _LOOKED_AT:
        some = free(at.plan, at.over, left)
        yield [at.plan.item(number) for number in priority.first(at.plan.turns, some, _LOOKED_AT, _LOOKED_AT)]


async def _looked_up(
    connection: Connection, ledger: Ledger, at: _Plan, items: Sequence[Item]
) -> dict[int, Ordinals] | None:
    """The ledger gets the marks of what these make; where only what is new counts, what of that was made since the plan was."""
    wanted = united((at.held.number(name), makes) for one in items for name, makes in one.makes.items())
    await ledger.marks.more(connection, windows(wanted))
    return await _made_since(connection, at, wanted, ledger.seq) if at.inputs.fresh else None


async def _made_since(connection: Connection, at: _Plan, wanted: dict[int, Ordinals], seq: int) -> dict[int, Ordinals]:
    """What of these was made since the plan was."""
    return united(
        (version.entity_id, Ordinals.between(version.start_, version.end_))
        for version in await status_store.versions(connection, windows(wanted), seq)
        if version.seq > at.row.seq
    )


def _good(at: _Plan, ledger: Ledger, name: str, fresh: dict[int, Ordinals] | None) -> Ordinals:
    number = at.held.number(name)
    marks = ledger.marks.of(number)
    found = marks.exist - marks.refused
    return found if fresh is None else found & fresh.get(number, NONE)


def _right(at: _Plan, ledger: Ledger, item: Item, fresh: dict[int, Ordinals] | None) -> bool:
    return all(some <= _good(at, ledger, name, fresh) for name, some in item.makes.items())


def _lacking(at: _Plan, ledger: Ledger, item: Item, fresh: dict[int, Ordinals] | None) -> str:
    lacking = {name: some - _good(at, ledger, name, fresh) for name, some in item.makes.items()}
    return "; ".join(
        f"{name} {', '.join(ranges.written(at.held.instances(name), some))}" for name, some in lacking.items() if some
    )


def _elsewhere(at: _Plan, ledger: Ledger, item: Item) -> bool:
    """Whether another plan makes any of it right now."""
    mine = str(at.row.id)
    for name, some in item.makes.items():
        for plan, those in ledger.marks.of(at.held.number(name)).by_ref("repairing").items():
            if plan != mine and those & some:
                return True
    return False


def _ended(at: _Plan, item: Item, state: Literal["skipped", "failed"], worker: str, note: str) -> store.Ended:
    """What became of an item that nobody was given."""
    return store.Ended(item.number, state, _attempt(at, item), worker, "", note)


def _attempt(at: _Plan, item: Item) -> int:
    known = at.items.get(item.number)
    return known.attempt if known is not None else 0


async def _begin(
    connection: Connection,
    ledger: Ledger,
    at: _Plan,
    item: Item,
    worker: str,
    until: dt.datetime,
    restore: list[Restoring],
) -> TakenItem:
    attempt = _attempt(at, item) + 1
    known = at.items.get(item.number)
    await store.take(connection, at.row.id, item.number, attempt, worker, until)
    mark = Mark("repairing", str(at.row.id))
    for name, some in item.makes.items():
        number = at.held.number(name)
        marks = ledger.marks.of(number).with_({mark: some})
        if ledger.touched(number, marks):
            ledger.report(number, "planned", mark.ref, some, actor=worker)
            ledger.change({number: marks})
    start, end = item.interval or (None, None)
    return TakenItem(
        at.row.id,
        item.number,
        attempt,
        item.action,
        item.producer,
        listed(at.held, item.makes),
        ranges.periods(item.calendar, item.runs),
        start,
        end,
        item.roots,
        known.run if known is not None else "",
        restore,
    )


def _unmark(ledger: Ledger, at: _Plan, item: Item) -> None:
    mark = Mark("repairing", str(at.row.id))
    for name, some in item.makes.items():
        number = at.held.number(name)
        marks = ledger.marks.of(number).without({mark: some})
        if gone := ledger.touched(number, marks):
            ledger.report(number, "unplanned", mark.ref, gone, actor="plan")
            ledger.change({number: marks})


async def _forget(ledger: Ledger, at: _Plan, reason: str) -> None:
    """Nothing is being repaired by this plan any more."""
    mark = Mark("repairing", str(at.row.id))
    await ledger.marks.more_by_ref(ledger.connection, ("repairing",), mark.ref)
    for number in ledger.marks.ids():
        had = ledger.marks.of(number)
        if mark in had:
            ledger.report(number, "unplanned", mark.ref, had[mark], actor="plan", reason=reason)
            ledger.change({number: had.without({mark: had[mark]})})


async def _finish(connection: Connection, at: _Plan, failed: bool, over: int) -> str:
    """Nothing can be handed out and nothing is going on: it is done, or stands because of what failed."""
    state: store.State = "done" if over >= at.plan.count else "failed"
    if state == "failed" and not failed and not any(one.state == "failed" for one in at.items.values()):
        return at.row.state  # more than is looked at in one go was skipped
    await store.become(connection, at.row.id, state)
    return state
