"""Plans: which there are, how far each has come, and its items, page by page."""

import datetime as dt
import uuid
from collections.abc import Collection
from typing import Any

import msgspec

from headwater.answer.people.limits import without_limits
from headwater.answer.plans.visible_items import NUMBERS, VisibleItems
from headwater.answer.status.declared import declared
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.plans.plan import Item, Plan, Sets
from headwater.entities.plans.serialization import KEPT, Inputs, planned
from headwater.entities.plans.window import Window
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import Ordinals
from headwater.errors import InvalidPlan, NotFound
from headwater.store import plan_workers as worker_store
from headwater.store import plans as store
from headwater.store.database import Connection, Database
from headwater.store.limited import is_limited
from headwater.store.plan_workers import PlanWorker
from headwater.store.status import entities as entity_store
from headwater.store.status import restorable


class PlanView(msgspec.Struct, frozen=True):
    """`state`: planned, running, paused, done, failed (something failed, and nothing else can be done) or cancelled. `waiting`: neither.
    `between`: at what time of day items begin, in the time zone `tz`; empty: at any. `opens`: when that is next; null if it is now.
    `incident`: the one that it is for.
    """

    id: uuid.UUID
    state: str
    incident: uuid.UUID | None
    reason: str
    created_at: dt.datetime
    created_by: str
    changed_at: dt.datetime
    seq: int
    items: int
    done: int
    skipped: int
    failed: int
    running: int
    waiting: int
    between: str
    tz: str
    opens: dt.datetime | None


class _PlanRequest(msgspec.Struct):
    """The displayed part of a plan's request."""

    between: str = ""
    tz: str = "UTC"
    incident: uuid.UUID | None = None


class PlanList(msgspec.Struct, frozen=True):
    """`workers`: those that are connected. Without any, no applied plan goes on."""

    total: int
    plans: list[PlanView]
    workers: list[PlanWorker]


class Instances(msgspec.Struct, frozen=True):
    """Instances of one entity."""

    entity: str
    instances: list[str]


class GoesBack(msgspec.Struct, frozen=True):
    """Instances that are restored, and the version (`seq` of its report) that they go back to: which run made it, and where it is kept."""

    entity: str
    instances: list[str]
    version: int
    produced_at: dt.datetime
    run: str
    storage: dict[str, Any]


class ItemView(msgspec.Struct, frozen=True):
    """An item of a plan.

    `start` and `end`: of its runs, from the first to the last. `needs`: numbers of the items that come before, `3..7`.
    `state`: waiting, running, done, skipped, failed. `restores`: what is restored.
    """

    number: int
    state: str
    action: str
    producer: str | None
    makes: list[Instances]
    runs: list[str]
    start: dt.datetime | None
    end: dt.datetime | None
    level: int
    roots: bool
    needs: list[str]
    restores: list[GoesBack]
    attempt: int
    run: str
    note: str
    began_at: dt.datetime | None
    ended_at: dt.datetime | None


class OnePlan(msgspec.Struct, frozen=True):
    """A plan, and a page of its items; of those in one state only, where that is asked. `workers`: those that are connected and take its items."""

    plan: PlanView
    workers: list[PlanWorker]
    unrepairable: dict[str, list[Instances]]
    left: list[Instances]
    degraded: list[Instances]
    items: list[ItemView]


async def plans(
    database: Database,
    *,
    state: str | None = None,
    incident: uuid.UUID | None = None,
    limit: int = 100,
    offset: int = 0,
) -> PlanList:
    """Return the plans, the latest first; in one state or all, for one incident or any."""
    async with database.snapshot() as connection:
        rows, total = await store.page(connection, state, incident, limit, offset)
        shown = []
        declarations: dict[uuid.UUID | None, StoredDeclarations] = {}
        for row in rows:
            items, total_items = await store.items(connection, row.id), row.items
            if is_limited():
                numbers = await _visible_numbers(database, connection, row, declarations)
                items, total_items = [one for one in items if one.number in numbers], numbers.count
            shown.append(_plan_view(row, items, total_items))
        workers = await worker_store.connected(connection, dt.datetime.now(dt.UTC))
    return PlanList(total, shown, workers)


async def plan(
    database: Database, id_: uuid.UUID, *, state: str | None = None, limit: int = 100, offset: int = 0
) -> OnePlan:
    """Return one plan. NotFound."""
    async with database.snapshot() as connection:
        row = await store.named(connection, id_)
        if row is None:
            raise NotFound(f"there is no plan {id_}; `headwater backfill list` shows those there are", plan=str(id_))
        items = {one.number: one for one in await store.items(connection, id_)}
        visible = await _visible(database, connection, row)
        found: Plan | VisibleItems
        if visible is not None:
            held, found, inputs = visible.held, visible, visible.inputs
            items = {one.number: one for one in visible.renumber(items.values())}
        else:
            held, found, inputs = await _load_plan(connection, row)
        page = _page(found, items, state, offset, limit)
        back = [[*inputs.goes_back(item.makes)] if item.action == "restore" else [] for item in page]
        seqs = sorted({seq for each in back for _, _, seq in each})
        versions = {made.seq: made for made in await restorable.stored_versions(connection, seqs)}
        workers = await worker_store.connected(connection, dt.datetime.now(dt.UTC), id_)
    return OnePlan(
        _plan_view(row, items.values(), found.count),
        workers,
        {reason: _instances(held, sets) for reason, sets in found.unrepairable.items()},
        _instances(held, found.left),
        _instances(held, found.degraded),
        [
            _item(held, item, items.get(item.number), [_back(held, one, versions) for one in each])
            for item, each in zip(page, back, strict=True)
        ],
    )


async def _visible(database: Database, connection: Connection, row: store.StoredPlan) -> VisibleItems | None:
    """Return the part of a plan that a limited reader may see; None for a reader who may see it all."""
    if not is_limited():
        return None
    return await _load_visible(database, row, await declared(connection, row.declared_at))


async def _visible_numbers(
    database: Database,
    connection: Connection,
    row: store.StoredPlan,
    declarations: dict[uuid.UUID | None, StoredDeclarations],
) -> Ordinals:
    """Return the numbers of the items that a limited reader may see. `declarations`: those read for other plans of the list."""
    applied = await entity_store.applied(connection, row.declared_at)
    id_ = applied.id if applied else None
    held = declarations.get(id_)
    if held is None:
        held = declarations[id_] = await declared(connection, row.declared_at)
    return await NUMBERS.get_or_load(row.id, frozenset(held.ids), lambda: _load_visible(database, row, held))


async def _load_visible(database: Database, row: store.StoredPlan, held: StoredDeclarations) -> VisibleItems:
    with without_limits():
        async with database.snapshot() as unlimited:
            _, found, inputs = await _load_plan(unlimited, row)
    return VisibleItems(held, found, inputs)


def _page(
    found: Plan | VisibleItems, items: dict[int, store.StoredItem], state: str | None, offset: int, limit: int
) -> list[Item]:
    if state in {None, ""}:
        return found.page(offset, limit)
    if state == "waiting":
        numbers = [number for number in range(found.count) if number not in items]
    else:
        numbers = [number for number, one in items.items() if one.state == state]
    return [found.item(number) for number in numbers[offset : offset + limit]]


async def _load_plan(connection: Connection, row: store.StoredPlan) -> tuple[StoredDeclarations, Plan, Inputs]:
    held = await declared(connection, row.declared_at)
    known = KEPT.get(row.id)
    if known is None:
        inputs = Inputs.of(await store.inputs(connection, row.id))
        known = KEPT.put(row.id, planned(held, inputs), inputs)
    if known[0].count != row.items:
        raise InvalidPlan(
            f"the plan was made with {row.items} items and now has {known[0].count}: planning has changed since. Make a new plan",
            plan=str(row.id),
        )
    return held, *known


def _plan_view(row: store.StoredPlan, items: Collection[store.StoredItem], total: int) -> PlanView:
    asked = msgspec.json.decode(row.request, type=_PlanRequest)
    window = Window.of(asked.between, asked.tz)
    count = {state: sum(one.state == state for one in items) for state in ("done", "skipped", "failed", "running")}
    return PlanView(
        row.id,
        row.state,
        asked.incident,
        row.reason,
        row.created_at,
        row.created_by,
        row.changed_at,
        row.seq,
        total,
        **count,
        waiting=total - sum(count.values()),
        between=asked.between,
        tz=asked.tz,
        opens=window.opens(dt.datetime.now(dt.UTC)) if window is not None else None,
    )


def _instances(held: StoredDeclarations, sets: Sets) -> list[Instances]:
    return [Instances(name, ranges.written(held.instances(name), some)) for name, some in sets.items() if some]


def _back(
    held: StoredDeclarations, one: tuple[str, Ordinals, int], versions: dict[int, restorable.StoredVersion]
) -> GoesBack:
    name, some, seq = one
    made = versions[seq]
    storage = msgspec.json.decode(made.storage or "{}")
    return GoesBack(name, ranges.written(held.instances(name), some), seq, made.produced_at, made.run, storage)


def _item(held: StoredDeclarations, item: Item, known: store.StoredItem | None, back: list[GoesBack]) -> ItemView:
    start, end = item.interval or (None, None)
    return ItemView(
        item.number,
        known.state if known is not None else "waiting",
        item.action,
        item.producer,
        _instances(held, item.makes),
        ranges.periods(item.calendar, item.runs),
        start,
        end,
        item.level,
        item.roots,
        [str(low) if high - low == 1 else f"{low}..{high - 1}" for low, high in item.needs],
        back,
        known.attempt if known is not None else 0,
        known.run if known is not None else "",
        known.note if known is not None else "",
        known.began_at if known is not None else None,
        known.ended_at if known is not None else None,
    )
