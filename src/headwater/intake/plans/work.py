"""Hand out the items of a plan that can be done now, and record their outcomes. The worker decides what an item runs.

Any number of workers may take items of any number of plans. Each step is one transaction under the status lock. So an item is handed out once, two
plans never make the same instance at the same time, and instances that are right by then are skipped. The lease of a lost worker expires; the next
worker of the item gets the attempt number and the run that the lost worker had started.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans import priority
from headwater.entities.plans.plan import Item, Plan
from headwater.entities.plans.ready_items import free
from headwater.entities.plans.serialization import Inputs
from headwater.entities.status.marks import Mark
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan, NotFound
from headwater.intake.plans.plans import PlanRequest, load_plan
from headwater.intake.plans.restores import Restoring, ready
from headwater.intake.status.incidents import Wrong, listed
from headwater.intake.status.ledger import Ledger
from headwater.intake.status.loaded_marks import united, windows
from headwater.store import plans as store
from headwater.store.database import Connection, Database
from headwater.store.status import status as status_store

_LOOKED_AT = 2000
"""The number of items that are examined at once; items whose turn is first are ready first."""

_NOT_RESTORABLE = "cannot restore: the version read other instances than exist now, or it is no longer known to be right; make a new plan"

_request = msgspec.json.Decoder(PlanRequest)


class TakenItem(msgspec.Struct, frozen=True):
    """An item to do. `runs`: periods of the producer; `start` and `end` span them. `before`: the run of an abandoned attempt, which may still be
    running. `restore`: what a restore item goes back to.
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
    """`state`: of the plan. `wait`: more items will become available, when running items of this or another plan end, or the plan resumes. It is
    false if only other workers can do the available items, and for items by number if no item of the plan is running. `skipped`: how many items were
    right already. `opens`: when the running plan's window opens; null if it is open.
    """

    state: str
    items: list[TakenItem]
    skipped: int
    wait: bool
    opens: dt.datetime | None = None


class EndedItem(msgspec.Struct, frozen=True):
    """`item`: done, failed (`note` says why), skipped, or still running. `plan`: the plan's state."""

    item: str
    note: str
    plan: str


class _LoadedPlan(NamedTuple):
    row: store.StoredPlan
    held: StoredDeclarations
    plan: Plan
    inputs: Inputs
    items: dict[int, store.StoredItem]

    @property
    def over(self) -> Ordinals:
        return Ordinals.of([number for number, one in self.items.items() if one.state in {"done", "skipped"}])


async def steer(database: Database, id_: uuid.UUID, what: str) -> str:
    """`apply` (or `resume`), `pause`, `cancel` or `retry` (failed items) a plan. Returns its new state. Raises InvalidPlan if it cannot."""
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        at = await _load(connection, id_)
        state = at.row.state
        if state in {"cancelled", "done"} or (what == "pause" and state != "running"):
            raise InvalidPlan(f"cannot {what} the plan: it is {state}", plan=str(id_), state=state)
        if what == "retry":
            await store.again(connection, id_)
        become: store.State = {"pause": "paused", "cancel": "cancelled"}.get(what, "running")  # type: ignore[assignment]
        if what == "cancel":
            await _release_all(ledger, at, "cancelled")
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
    """Take up to `limit` items whose needs are done; only of these producers, actions and numbers, if given."""
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
            fresh = await _load_marks(connection, ledger, at, some)
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
                    _unmark(ledger, at, item)  # left by a worker that was lost before it could report the end
                    over |= Ordinals.between(item.number, item.number + 1)
                    continue
                producer = item.producer or ""
                full = _full(request, busy, producer, len(running) + len(taken))
                elsewhere = _elsewhere(at, ledger, item)
                # A restore has no producer.
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
            held_back, stuck = True, []  # instances that they read may be about to go back
        failed = [_ended(at, item, "failed", worker, _NOT_RESTORABLE) for item in stuck]
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


def _full(request: PlanRequest, busy: Mapping[str, int], producer: str, going: int) -> bool:
    """Return whether the limit of the producer, or the total limit, is reached."""
    total = request.total is not None and going >= request.total
    return total or busy[producer] >= request.limits.get(producer, 2**31)


async def renew(
    database: Database, id_: uuid.UUID, number: int, attempt: int, *, run: str = "", lease_seconds: float = 3600.0
) -> bool:
    """Renew a lease. Returns False if another worker has the item or the item has ended; the worker must stop then."""
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
    """End an item. It is `done` only if its instances are right now; otherwise it is `failed`. Without `settled`, reports may still arrive, and an
    item that is not right yet stays `running`.

    Raises InvalidPlan if this attempt does not hold the item. Ending an item twice is allowed.
    """
    async with database.transaction() as connection:
        ledger = await Ledger.open(connection)
        at = await _load(connection, id_)
        one = at.items.get(number)
        if one is None or one.attempt != attempt:
            raise InvalidPlan(
                f"item {number} is not held by attempt {attempt}; take it again",
                plan=str(id_),
                number=number,
                attempt=attempt,
            )
        if one.state != "running":
            return EndedItem(one.state, one.note, at.row.state)
        item = at.plan.item(number)
        fresh = await _load_marks(connection, ledger, at, [item])
        right = _right(at, ledger, item, fresh)
        if not right and not failed and not settled:
            return EndedItem("running", "", at.row.state)
        state = "done" if right and not failed else "failed"
        if not right and not failed:
            note = f"its run ended, but these instances are not right: {_lacking(at, ledger, item, fresh)}"
        ended = store.Ended(number, state, attempt, one.worker, run, note)
        await store.end(connection, id_, [ended])
        _unmark(ledger, at, item)
        await ledger.flush()
        plan_state = at.row.state
        if plan_state == "running" and state == "done" and len(at.over.members()) + 1 >= at.plan.count:
            plan_state = "done"
            await store.become(connection, id_, "done")
        return EndedItem(state, note, plan_state)


async def _load(connection: Connection, id_: uuid.UUID) -> _LoadedPlan:
    row = await store.locked(connection, id_)
    if row is None:
        raise NotFound(f"there is no plan {id_}; list the plans with `headwater backfill list`", plan=str(id_))
    held, found, inputs = await load_plan(connection, row)
    return _LoadedPlan(row, held, found, inputs, {one.number: one for one in await store.items(connection, id_)})


def _among(producer: str, wanted: Sequence[str]) -> bool:
    return any(producer == each or (each.endswith("*") and producer.startswith(each[:-1])) for each in wanted)


def _going(one: store.StoredItem, now: dt.datetime) -> bool:
    return one.state == "running" and one.lease_until is not None and one.lease_until > now


def _open(at: _LoadedPlan, now: dt.datetime, wanted: Sequence[int] | None) -> Iterator[list[Item]]:
    """Open items in the order of their turns: neither ended nor leased; limited to the wanted items and their needs, which may be right by now. If
    there are more, a second portion follows with items that wait for no other item, because all of the first may wait for a failed one.
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


async def _load_marks(
    connection: Connection, ledger: Ledger, at: _LoadedPlan, items: Sequence[Item]
) -> dict[int, Ordinals] | None:
    """Load the marks of these items' instances into the ledger. If the plan counts new versions only, returns the instances produced since it."""
    wanted = united((at.held.number(name), makes) for one in items for name, makes in one.makes.items())
    await ledger.marks.more(connection, windows(wanted))
    return await _produced_since(connection, at, wanted, ledger.seq) if at.inputs.fresh else None


async def _produced_since(
    connection: Connection, at: _LoadedPlan, wanted: dict[int, Ordinals], seq: int
) -> dict[int, Ordinals]:
    """The instances of these that were produced since the plan was made."""
    return united(
        (version.entity_id, Ordinals.between(version.start_, version.end_))
        for version in await status_store.versions(connection, windows(wanted), seq)
        if version.seq > at.row.seq
    )


def _good(at: _LoadedPlan, ledger: Ledger, name: str, fresh: dict[int, Ordinals] | None) -> Ordinals:
    number = at.held.number(name)
    marks = ledger.marks.of(number)
    found = marks.exist - marks.refused
    return found if fresh is None else found & fresh.get(number, NONE)


def _right(at: _LoadedPlan, ledger: Ledger, item: Item, fresh: dict[int, Ordinals] | None) -> bool:
    return all(some <= _good(at, ledger, name, fresh) for name, some in item.makes.items())


def _lacking(at: _LoadedPlan, ledger: Ledger, item: Item, fresh: dict[int, Ordinals] | None) -> str:
    lacking = {name: some - _good(at, ledger, name, fresh) for name, some in item.makes.items()}
    return "; ".join(
        f"{name} {', '.join(ranges.written(at.held.instances(name), some))}" for name, some in lacking.items() if some
    )


def _elsewhere(at: _LoadedPlan, ledger: Ledger, item: Item) -> bool:
    """Return whether another plan makes any instance of the item right now."""
    mine = str(at.row.id)
    for name, some in item.makes.items():
        for plan, those in ledger.marks.of(at.held.number(name)).by_ref("repairing").items():
            if plan != mine and those & some:
                return True
    return False


def _ended(at: _LoadedPlan, item: Item, state: Literal["skipped", "failed"], worker: str, note: str) -> store.Ended:
    """The outcome of an item that was never handed out."""
    return store.Ended(item.number, state, _attempt(at, item), worker, "", note)


def _attempt(at: _LoadedPlan, item: Item) -> int:
    known = at.items.get(item.number)
    return known.attempt if known is not None else 0


async def _begin(
    connection: Connection,
    ledger: Ledger,
    at: _LoadedPlan,
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


def _unmark(ledger: Ledger, at: _LoadedPlan, item: Item) -> None:
    mark = Mark("repairing", str(at.row.id))
    for name, some in item.makes.items():
        number = at.held.number(name)
        marks = ledger.marks.of(number).without({mark: some})
        if gone := ledger.touched(number, marks):
            ledger.report(number, "unplanned", mark.ref, gone, actor="plan")
            ledger.change({number: marks})


async def _release_all(ledger: Ledger, at: _LoadedPlan, reason: str) -> None:
    """Remove all `repairing` marks of the plan."""
    mark = Mark("repairing", str(at.row.id))
    await ledger.marks.more_by_ref(ledger.connection, ("repairing",), mark.ref)
    for number in ledger.marks.ids():
        had = ledger.marks.of(number)
        if mark in had:
            ledger.report(number, "unplanned", mark.ref, had[mark], actor="plan", reason=reason)
            ledger.change({number: had.without({mark: had[mark]})})


async def _finish(connection: Connection, at: _LoadedPlan, failed: bool, over: int) -> str:
    """End a plan that has no open and no running item: it is done, or failed if an item failed."""
    state: store.State = "done" if over >= at.plan.count else "failed"
    if state == "failed" and not failed and not any(one.state == "failed" for one in at.items.values()):
        return at.row.state  # only the first portion of items was examined, and all of it was skipped
    await store.become(connection, at.row.id, state)
    return state
