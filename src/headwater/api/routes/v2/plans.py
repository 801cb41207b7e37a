"""`/api/v2`: plans, their execution by workers, and the impact of a run."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.answer.plans import impact, plans
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import Limit, Offset, id_of, numbered
from headwater.intake.plans import plans as planning
from headwater.intake.plans import work, workers

Plan = Annotated[str, PathParameter(description="The plan's id.")]
Number = Annotated[str, PathParameter(description="The item's number, from 0 on.")]
Lease = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class WantedWork(msgspec.Struct, forbid_unknown_fields=True):
    """`worker`: its name; `producers` (`airflow://prod/*` matches a prefix), `actions`, `numbers`: only items of these; `lease_seconds`: how long the
    worker holds them without renewal.
    """

    worker: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    lease_seconds: Lease = 3600.0
    producers: list[str] | None = None
    actions: list[Literal["restore", "rerun", "manual"]] | None = None
    numbers: Annotated[list[Annotated[int, msgspec.Meta(ge=0, lt=2**31)]], msgspec.Meta(max_length=1000)] | None = None


class LivingWorker(msgspec.Struct, forbid_unknown_fields=True):
    """`plan`: it takes items of this plan only. `expires_seconds`: it counts as gone then, unless it registers again; 0: it ends now."""

    worker: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
    plan: str | None = None
    expires_seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 35.0


class Registered(msgspec.Struct):
    """`connected`: whether the worker counts as connected now."""

    connected: bool


class Renewal(msgspec.Struct, forbid_unknown_fields=True):
    """`run`: the id of its run, for the next worker that takes it."""

    attempt: int
    run: str = ""
    lease_seconds: Lease = 3600.0


class Renewed(msgspec.Struct):
    """`held`: false if another worker has the item, or it is over; stop then."""

    held: bool


class Ending(msgspec.Struct, forbid_unknown_fields=True):
    """The result of an item. `settled`: false while its report may still come: it has not failed yet."""

    attempt: int
    failed: bool = False
    settled: bool = True
    run: str = ""
    note: str = ""


class Steered(msgspec.Struct):
    state: str


@post("/plans", status_code=200)
async def make_plan(
    request: Request[Any, Any, Any], state: State, data: JSONBody[planning.PlanRequest], said_by: As = None
) -> planning.Planned:
    """Plan what to rebuild, in which order, and list what cannot be repaired."""
    return await planning.plan(state.database, data, author(request, said_by))


@get("/plans")
async def list_plans(
    state: State,
    in_state: Annotated[str | None, QueryParameter(name="state", max_length=20)] = None,
    incident: Annotated[str | None, QueryParameter(max_length=100, description="Only plans for this incident.")] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> plans.PlanList:
    """List plans, the latest first."""
    of = id_of(incident, "incident") if incident is not None else None
    return await plans.plans(state.database, state=in_state, incident=of, limit=limit, offset=offset)


@get("/plans/{plan:str}")
async def get_plan(
    state: State,
    plan: Plan,
    in_state: Annotated[str | None, QueryParameter(name="state", max_length=20)] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> plans.OnePlan:
    """Return one plan with a page of its items."""
    return await plans.plan(state.database, id_of(plan, "plan"), state=in_state, limit=limit, offset=offset)


async def _steered(state: State, plan: str, what: str) -> Steered:
    return Steered(await work.steer(state.database, id_of(plan, "plan"), what))


@post("/plans/{plan:str}/apply", status_code=200)
async def apply_plan(state: State, plan: Plan) -> Steered:
    """Start a plan: workers may take its items."""
    return await _steered(state, plan, "apply")


@post("/plans/{plan:str}/pause", status_code=200)
async def pause_plan(state: State, plan: Plan) -> Steered:
    """Pause a plan: no item starts; running ones go on."""
    return await _steered(state, plan, "pause")


@post("/plans/{plan:str}/resume", status_code=200)
async def resume_plan(state: State, plan: Plan) -> Steered:
    """Resume a paused plan."""
    return await _steered(state, plan, "resume")


@post("/plans/{plan:str}/retry", status_code=200)
async def retry_plan(state: State, plan: Plan) -> Steered:
    """Put failed items back into the queue."""
    return await _steered(state, plan, "retry")


@post("/plans/{plan:str}/cancel", status_code=200)
async def cancel_plan(state: State, plan: Plan) -> Steered:
    """Cancel a plan: no item starts any more."""
    return await _steered(state, plan, "cancel")


@post("/plans/{plan:str}/take", status_code=200, opt={"role": "write", "audit": False})
async def take_items(state: State, plan: Plan, data: JSONBody[WantedWork]) -> work.Work:
    """Take items that may run now."""
    return await work.take(
        state.database,
        id_of(plan, "plan"),
        data.worker,
        limit=data.limit,
        lease_seconds=data.lease_seconds,
        producers=data.producers,
        actions=data.actions,
        numbers=data.numbers,
    )


@post("/plan-workers", status_code=200, opt={"role": "write", "audit": False})
async def register_worker(state: State, data: JSONBody[LivingWorker]) -> Registered:
    """Register a worker of plans as connected, for some seconds; or take it off."""
    plan = id_of(data.plan, "plan") if data.plan is not None else None
    await workers.register(state.database, data.worker, plan, data.expires_seconds)
    return Registered(data.expires_seconds > 0)


@post("/plans/{plan:str}/items/{number:str}/renew", status_code=200, opt={"role": "write", "audit": False})
async def renew_item(state: State, plan: Plan, number: Number, data: JSONBody[Renewal]) -> Renewed:
    """Renew the lease of an item."""
    held = await work.renew(
        state.database,
        id_of(plan, "plan"),
        numbered(number),
        data.attempt,
        run=data.run,
        lease_seconds=data.lease_seconds,
    )
    return Renewed(held)


@post("/plans/{plan:str}/items/{number:str}/end", status_code=200, opt={"role": "write", "audit": False})
async def end_item(state: State, plan: Plan, number: Number, data: JSONBody[Ending]) -> work.EndedItem:
    """End an item: done or failed."""
    return await work.end(
        state.database,
        id_of(plan, "plan"),
        numbered(number),
        data.attempt,
        failed=data.failed,
        run=data.run,
        note=data.note,
        settled=data.settled,
    )


@post("/impact", status_code=200, opt={"role": "read", "audit": False})
async def get_impact(state: State, data: JSONBody[impact.AskedImpact]) -> impact.ImpactAnswer:
    """Return the impact of a run that failed or made something wrong: tasks to clear, runs to start."""
    return await impact.of(state.database, data)


handlers = (
    make_plan,
    list_plans,
    get_plan,
    apply_plan,
    pause_plan,
    resume_plan,
    retry_plan,
    cancel_plan,
    take_items,
    register_worker,
    renew_item,
    end_item,
    get_impact,
)
