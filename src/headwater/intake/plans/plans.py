"""Compute and store a backfill plan. It uses only marks, existing instances and declarations, and runs nothing."""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.client.event import run_id
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.needs.kinds import Snapshot
from headwater.entities.plans.plan import Plan
from headwater.entities.plans.schedule import Estimate, Limits, Usage, estimate
from headwater.entities.plans.serialization import KEPT, Inputs, planned
from headwater.entities.plans.window import Window
from headwater.entities.status.marks import Marks, by_entity
from headwater.entities.status.taint import Facts, tainted
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.entities.time.zones import seconds
from headwater.errors import InvalidPlan, NotFound
from headwater.intake.plans.restorable import restorable
from headwater.intake.plans.restorable import runs as runs_of
from headwater.intake.status.declared import declared
from headwater.intake.status.incidents import Wrong, listed
from headwater.store import plans as store
from headwater.store.database import Connection, Database
from headwater.store.status import incidents as incident_store
from headwater.store.status import restorable as restorable_store
from headwater.store.status import status as status_store

_MOST_LISTED = 200
_FAR = 2**40


class PlanRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The instances to make right: those that are wrong because of an `incident`; or the named instances (`wrong`) and all that used them, or with
    `only` these alone, whether they are wrong or not; or, without both, everything that is wrong.

    newest_first: run the latest periods first. limits: the most concurrent items by producer; total: of all producers. dry_run: do not store it.
    between: the time of day at which items may begin (`22:00-06:00`), in the time zone `tz`; empty: at any time.
    restore: go back to stored versions that are known to be right (`restorable.py`); named instances are never restored.
    trust_stored: restore also versions that the code of the wrong version made, or unknown code: the caller vouches for them.
    """

    incident: uuid.UUID | None = None
    wrong: list[Wrong] = []
    only: bool = False
    newest_first: bool = False
    limits: dict[str, int] = {}
    total: int | None = None
    between: str = ""
    tz: str = "UTC"
    reason: str = ""
    dry_run: bool = False
    restore: bool = True
    trust_stored: bool = False

    @property
    def window(self) -> Window | None:
        """The window of `between`. Raises InvalidPlan and InvalidCalendar."""
        return Window.of(self.between, self.tz)


class Restored(msgspec.Struct, frozen=True):
    """Instances that go back to the version of one report. `run`: the run that made it; `storage`: where it is stored."""

    entity: str
    instances: list[str]
    version: int
    produced_at: dt.datetime
    run: str
    storage: dict[str, Any]


class PlanGroup(msgspec.Struct, frozen=True):
    """Items of one kind from number `first` on. `action`: restore, rerun or manual. `runs`: the producer's periods, one text for each stretch."""

    first: int
    items: int
    action: str
    producer: str | None
    entities: list[str]
    runs: list[str]
    level: int


class Cost(msgspec.Struct, frozen=True):
    """Seconds until the end, and of all runs together, at the median and the 95th percentile. `unknown`: producers without recorded runs."""

    finish_p50: float
    finish_p95: float
    compute_p50: float
    compute_p95: float
    runs: int
    unknown: list[str]
    approximate: bool


class Planned(msgspec.Struct, frozen=True):
    """`id`: null for a dry run. `makes`: the instances that will be right. Not made right: `unrepairable` by reason, `left` (older snapshots) and
    `degraded` (they need one of those). `groups` and `restores`: the first 200; `more_groups` and `more_restores` count the rest.
    """

    id: uuid.UUID | None
    seq: int
    items: int
    makes: list[Wrong]
    counts: dict[str, int]
    groups: list[PlanGroup]
    more_groups: int
    restores: list[Restored]
    more_restores: int
    unrepairable: dict[str, list[Wrong]]
    left: list[Wrong]
    degraded: list[Wrong]
    cost: Cost


async def plan(database: Database, request: PlanRequest, author: str) -> Planned:
    """Compute a plan, and store it unless it is a dry run. Raises NotFound for an unknown incident or entity; InvalidPlan if nothing is wrong, or
    no order of runs can make it right.
    """
    if request.incident and request.wrong:
        raise InvalidPlan("give an incident or instances, not both")
    if any(limit < 1 for limit in [*request.limits.values(), request.total or 1]):
        raise InvalidPlan("a limit must be 1 or more; correct it")
    limits = Limits(request.limits, {}, request.total, request.window)
    async with database.snapshot() as connection:
        held = await declared(connection)
        now = dt.datetime.now(dt.UTC)
        seq, _ = await status_store.last(connection)
        inputs = await _inputs(connection, held, request)
        usage = await _usage(connection, held, inputs)
        inputs = inputs._replace(seconds={producer: each.p50 for producer, each in usage.items()})
        found = planned(held, inputs)
        if request.restore and not request.wrong:
            inputs, found = await _restoring(connection, held, inputs, found, trust=request.trust_stored)
        restores = await restored(connection, held, inputs, found.makes)
    cost = estimate(found, usage, limits, begin=seconds(now))
    if request.dry_run:
        return _describe_plan(held, None, seq, found, cost, restores)
    id_ = uuid.UUID(run_id())
    async with database.transaction() as connection:
        await store.add(
            connection,
            id_,
            now,
            author,
            request.reason,
            seq=seq,
            declared_at=now,
            items=found.count,
            request=msgspec.json.encode(request).decode(),
            inputs=inputs.text(),
        )
    KEPT.put(id_, found, inputs)
    return _describe_plan(held, id_, seq, found, cost, restores)


async def plan_wrong(database: Database, wrong: Mapping[str, Ordinals], author: str) -> Planned | None:
    """Compute the plan that makes these instances and no others, without storing it; None if there are none.

    Recorded reads spare instances that declared needs alone would add.
    """
    async with database.snapshot() as connection:
        some = listed(await declared(connection), wrong)
    return await plan(database, PlanRequest(wrong=some, only=True, dry_run=True), author) if some else None


async def _restoring(
    connection: Connection, held: StoredDeclarations, inputs: Inputs, found: Plan, *, trust: bool
) -> tuple[Inputs, Plan]:
    """The plan with the instances that can go back to a stored version. Instances that the plan leaves wrong are not restored."""
    stays = [found.left, *inputs.unrepairable.values()]
    wrong = {name: some - NONE.union(*(each.get(name, NONE) for each in stays)) for name, some in inputs.wrong.items()}
    targets = await restorable(connection, held, wrong, trust=trust)
    if not targets:
        return inputs, found
    inputs = inputs._replace(restore=runs_of(targets))
    return inputs, planned(held, inputs)


async def restored(
    connection: Connection, held: StoredDeclarations, inputs: Inputs, makes: Mapping[str, Ordinals]
) -> list[Restored]:
    """The instances of these that go back to a stored version, upstream first."""
    order = [name for component in held.graph.order for name in component if name in makes]
    back = list(inputs.goes_back({name: makes[name] for name in order}))
    versions = {
        made.seq: made
        for made in await restorable_store.stored_versions(connection, sorted({seq for _, _, seq in back}))
    }
    return [
        Restored(
            name,
            ranges.written(held.instances(name), some),
            seq,
            versions[seq].produced_at,
            versions[seq].run,
            msgspec.json.decode(versions[seq].storage or "{}"),
        )
        for name, some, seq in back
    ]


async def _usage(connection: Connection, held: StoredDeclarations, inputs: Inputs) -> dict[str, Usage]:
    """The durations of each producer's runs, from their recorded starts and ends; for a producer of several entities, the slowest."""
    makers = {name: one.produced_by[0].job for name, one in held.declared.items() if one.produced_by}
    names = [name for name in inputs.wrong if name in makers]
    took = await status_store.durations(connection, [held.number(name) for name in names])
    usage: dict[str, Usage] = {}
    for name in names:
        if (lasted := took.get(held.number(name))) is not None:
            slowest = usage.get(makers[name], Usage(0, 0))
            usage[makers[name]] = Usage(max(slowest.p50, lasted[0]), max(slowest.p95, lasted[1]))
    return usage


async def load_plan(connection: Connection, row: store.StoredPlan) -> tuple[StoredDeclarations, Plan, Inputs]:
    """Compute a stored plan again, from its inputs and the declarations of its time. Raises InvalidPlan if the planner has changed since."""
    held = await declared(connection, row.declared_at)
    cached = KEPT.get(row.id)
    if cached is None:
        inputs = Inputs.of(await store.inputs(connection, row.id))
        cached = KEPT.put(row.id, planned(held, inputs), inputs)
    if cached[0].count != row.items:
        raise InvalidPlan(
            f"this version of Headwater computes {cached[0].count} items for the plan, which was stored with {row.items}; make a new plan",
            plan=str(row.id),
        )
    return held, *cached


async def _inputs(connection: Connection, held: StoredDeclarations, request: PlanRequest) -> Inputs:
    if request.wrong:
        wrong, roots, marks = await _named(connection, held, request)
    else:
        wrong, roots = await _marked(connection, held, request.incident)
        marks = await _marks(connection, held, wrong)
    if not wrong:
        raise InvalidPlan("Nothing to backfill: no instance is wrong. Name instances to rebuild them anyway.")
    never: dict[str, dict[str, Ordinals]] = {}
    for name, some in wrong.items():
        had = marks.get(name, Marks())
        for reason, those in (("wont_fix", had.of("wont_fix")), ("frozen", held.declaration(name).frozen)):
            if those & some:
                never.setdefault(reason, {})[name] = those & some
    await _exclude_unmakeable(connection, held, wrong, never)
    exist = {name: had.exist for name, had in marks.items() if name in wrong}
    return Inputs(wrong, roots, exist, never, request.newest_first, fresh=bool(request.wrong))


async def _marked(
    connection: Connection, held: StoredDeclarations, incident: uuid.UUID | None
) -> tuple[dict[str, Ordinals], dict[str, Ordinals]]:
    """The instances that are wrong because of an incident (or of any), and those of them that the incident names itself."""
    kinds = ("tainted", "inherited")
    if incident is None:
        rows = await status_store.marks_by_kind(connection, kinds)
    else:
        if incident not in await incident_store.named(connection, [incident]):
            raise NotFound(
                f"there is no incident {incident}; list the incidents with `headwater incident list`",
                incident=str(incident),
            )
        rows = await status_store.marks_by_ref(connection, kinds, str(incident))
    marks = {held.names[number]: had for number, had in by_entity(rows).items() if number in held.names}
    return {name: had.wrong for name, had in marks.items()}, {
        name: had.of("tainted") for name, had in marks.items() if had.of("tainted")
    }


async def _named(
    connection: Connection, held: StoredDeclarations, request: PlanRequest
) -> tuple[dict[str, Ordinals], dict[str, Ordinals], dict[str, Marks]]:
    """The named instances and the existing ones that used them; the named instances alone; and the marks."""
    roots: dict[str, Ordinals] = {}
    for one in request.wrong:
        some = ranges.read(held.instances(one.entity), one.instances)
        roots[one.entity] = roots.get(one.entity, NONE) | some
    if request.only:
        return roots, roots, await _marks(connection, held, roots)
    reach = tainted(held.graph, roots).hits
    marks = await _marks(connection, held, {name: hit.instances for name, hit in reach.items()})
    nothing = Marks()
    facts = Facts(exist=lambda name: marks.get(name, nothing).exist | roots.get(name, NONE))
    hits = tainted(held.graph, roots, facts).hits
    return {name: hit.instances for name, hit in hits.items()}, roots, marks


async def _marks(connection: Connection, held: StoredDeclarations, some: Mapping[str, Ordinals]) -> dict[str, Marks]:
    """The marks of these instances and of those between them. For snapshots, all marks: a plan needs the latest snapshot and the one before it."""
    windows = []
    for name, those in some.items():
        whole = isinstance(held.graph.entities[name].kind, Snapshot)
        if whole or those:
            windows.append((held.number(name), *((-_FAR, _FAR) if whole else (those.first, those.end))))
    rows = await status_store.marks(connection, windows)
    return {held.names[number]: had for number, had in by_entity(rows).items()}


async def _exclude_unmakeable(
    connection: Connection,
    held: StoredDeclarations,
    wrong: Mapping[str, Ordinals],
    never: dict[str, dict[str, Ordinals]],
) -> None:
    """Add to `never` the instances that need a deleted instance which the plan does not make again."""
    having = await status_store.having(connection, ("deleted",))
    needs = [
        (link, link.edge, need)
        for name in wrong
        for link in held.graph.upstream(name)
        if link.edge is not None and held.number(link.upstream) in having and (need := link.edge.need(wrong[name]))
    ]
    windows = [(held.number(link.upstream), need.first, need.end) for link, _, need in needs]
    marks = by_entity(await status_store.marks(connection, windows))
    for link, edge, _ in needs:
        optional = link.dependency is not None and link.dependency.optional
        deleted = marks.get(held.number(link.upstream), Marks()).of("deleted") - wrong.get(link.upstream, NONE)
        if deleted and not optional:
            some = edge.affected(deleted, wrong[link.downstream])
            if some:
                reasons = never.setdefault(f"{link.upstream} was deleted", {})
                reasons[link.downstream] = reasons.get(link.downstream, NONE) | some


def _describe_plan(
    held: StoredDeclarations, id_: uuid.UUID | None, seq: int, found: Plan, cost: Estimate, restores: list[Restored]
) -> Planned:
    groups = found.groups()
    return Planned(
        id_,
        seq,
        found.count,
        listed(held, found.makes),
        found.counts,
        [
            PlanGroup(
                group.first,
                group.items,
                group.action,
                group.producer,
                list(group.entities),
                ranges.periods(found.item(group.first).calendar, group.runs),
                group.level,
            )
            for group in groups[:_MOST_LISTED]
        ],
        max(len(groups) - _MOST_LISTED, 0),
        restores[:_MOST_LISTED],
        max(len(restores) - _MOST_LISTED, 0),
        {reason: listed(held, sets) for reason, sets in found.unrepairable.items()},
        listed(held, found.left),
        listed(held, found.degraded),
        Cost(
            cost.finish.p50,
            cost.finish.p95,
            cost.compute.p50,
            cost.compute.p95,
            cost.runs,
            list(cost.unknown),
            cost.approximate,
        ),
    )
