"""`/api/v2`: entities: declarations, status of instances, readiness."""

import datetime as dt
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from litestar import Request, get, post
from litestar.datastructures import State
from litestar.params import HeaderParameter, JSONBody, QueryParameter

from headwater.answer.status import (
    drift,
    entities,
    entity_graph,
    log,
    readiness,
    schedules,
    stored_instances,
    suspects,
)
from headwater.answer.status import (
    instances as status,
)
from headwater.api.authors import As, author
from headwater.api.routes.v2.parameters import (
    Depth,
    Limit,
    MaxNodes,
    Offset,
    OneOrMore,
    OptionalText,
    Segment,
    Time,
)
from headwater.api.sender_clock import clock_offset
from headwater.entities.declaration.packages import PackageStatement
from headwater.errors import InvalidStatus
from headwater.intake.status import entities as declarations
from headwater.intake.status.reports import Recorded
from headwater.intake.status.request import Reported
from headwater.model.moments import aware

Instances = Annotated[
    list[str] | None,
    QueryParameter(name="instances", description="`2024-03-10`, `2024-03-01..2024-03-31`, `2024-03`. Repeatable."),
]
Wait = Annotated[float, QueryParameter(ge=0, le=60, description="Seconds to wait until all are ready.")]
MOST_REPORTS = 10_000
LONGEST_CALL = 200
Call = Annotated[
    str | None,
    HeaderParameter(
        name="Idempotency-Key",
        min_length=1,
        max_length=LONGEST_CALL,
        description="The call's id. Sent again with it, a call records each report once.",
    ),
]


class Files(msgspec.Struct, forbid_unknown_fields=True):
    """YAML texts. `packages`: what packages make, for entities without `produced_by`. `prune`: remove entities that none of them declares;
    `dry_run`: only return what would change.
    """

    files: list[declarations.File]
    packages: list[PackageStatement] = []
    prune: bool = False
    dry_run: bool = False


class Reports(msgspec.Struct, forbid_unknown_fields=True):
    """A request with at most 10,000 reports."""

    reports: list[Reported]


class Texts(msgspec.Struct, forbid_unknown_fields=True):
    """File names, partition values or times: at most 1,000."""

    texts: list[str]


class AskedMany(msgspec.Struct, forbid_unknown_fields=True):
    """`wait`: seconds until all are ready, at most 60. `intervals`: return also the start and end of instances."""

    ask: list[readiness.Asked]
    wait: float = 0.0
    as_of: dt.datetime | None = None
    intervals: bool = False


@get("/entities")
async def list_entities(
    state: State,
    tag: OptionalText = None,
    text: OptionalText = None,
    produced_by: OptionalText = None,
    as_of: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> entities.EntityList:
    """List entities by name. `produced_by`: made by this job."""
    return await entities.entities(
        state.database, tag=tag, text=text, produced_by=produced_by, as_of=aware(as_of), limit=limit, offset=offset
    )


@post("/entities", status_code=200)
async def apply_entities(
    request: Request[Any, Any, Any], state: State, data: JSONBody[Files], said_by: As = None
) -> declarations.AppliedEntities:
    """Declare entities."""
    return await declarations.apply(
        state.database,
        data.files,
        author(request, said_by),
        packages=data.packages,
        prune=data.prune,
        dry_run=data.dry_run,
    )


@get("/entity-contradictions")
async def get_contradictions(state: State) -> schedules.Contradictions:
    """List declarations that name a place or a producer, where runs show another."""
    return await schedules.contradictions(state.database)


@get("/entities/{name:str}")
async def get_entity(state: State, name: Segment, as_of: Time = None) -> entities.OneEntity:
    """Return one entity: its declaration, what it needs and what needs it."""
    return await entities.entity(state.database, unquote(name), as_of=aware(as_of))


@get("/entities/{name:str}/history")
async def get_entity_history(state: State, name: Segment, limit: Limit = 100, offset: Offset = 0) -> entities.History:
    """List earlier declarations of an entity."""
    return await entities.history(state.database, unquote(name), limit, offset)


@get("/entities/{name:str}/status")
async def get_status(
    state: State, name: Segment, instances: Instances = None, as_of: Time = None, limit: Limit = 1000
) -> status.Status:
    """Return the status of instances, in stretches of equal status."""
    return await status.status(state.database, unquote(name), instances or (), as_of=aware(as_of), limit=limit)


@get("/entities/{name:str}/periods")
async def get_periods(
    state: State, name: Segment, instances: Instances = None, as_of: Time = None, limit: Limit = 1000
) -> status.Periods:
    """List instances one by one, with their times."""
    return await status.periods(state.database, unquote(name), instances or [], as_of=aware(as_of), limit=limit)


@get("/entities/{name:str}/instances/{instance:str}")
async def get_instance(state: State, name: Segment, instance: Segment, as_of: Time = None) -> status.Instance:
    """Return one instance with its versions and its history."""
    return await status.instance(state.database, unquote(name), unquote(instance), as_of=aware(as_of))


@post("/entities/{name:str}/instances/at", status_code=200, opt={"role": "read", "audit": False})
async def post_instances_at(state: State, name: Segment, data: JSONBody[Texts]) -> stored_instances.InstancesAt:
    """Return the instances that texts of storage mean."""
    return await stored_instances.instances_at(state.database, unquote(name), data.texts)


@post("/entities/{name:str}/drift", status_code=200, opt={"role": "read", "audit": False})
async def post_drift(state: State, name: Segment, data: JSONBody[drift.Stored]) -> drift.DriftAnswer:
    """Compare the status of instances with what storage holds."""
    return await drift.compared(state.database, unquote(name), data)


@get("/entities/{name:str}/readiness", opt={"waits": True})
async def get_readiness(
    state: State,
    name: Segment,
    instances: Instances = None,
    start: Time = None,
    end: Time = None,
    in_state: Annotated[str | None, QueryParameter(name="state", max_length=200)] = None,
    wait: Wait = 0.0,
    as_of: Time = None,
) -> readiness.Ready:
    """Return whether instances may be made, from which inputs, and why not."""
    asked = [readiness.Asked(unquote(name), instances or [], aware(start), aware(end), in_state)]
    if wait and as_of is None:
        return await readiness.waited(state.database, state.news, asked, wait)
    return await readiness.ready(state.database, asked, as_of=aware(as_of))


@post("/readiness", status_code=200, opt={"waits": True, "role": "read", "audit": False})
async def post_readiness(state: State, data: JSONBody[AskedMany]) -> readiness.Ready:
    """Return the readiness of many instances."""
    if data.wait and data.as_of is None:
        seconds = min(data.wait, 60.0)
        return await readiness.waited(state.database, state.news, data.ask, seconds, intervals=data.intervals)
    return await readiness.ready(state.database, data.ask, as_of=aware(data.as_of), intervals=data.intervals)


@get("/entities/{name:str}/suspects")
async def get_suspects(
    state: State, name: Segment, instances: Instances = None, as_of: Time = None
) -> suspects.Suspects:
    """List the suspects for wrong instances, the likeliest first."""
    return await suspects.of(state.database, unquote(name), instances or [], as_of=aware(as_of))


@post("/instances", status_code=200, opt={"role": "write", "audit": False})
async def report_instances(
    request: Request[Any, Any, Any], state: State, data: JSONBody[Reports], call: Call = None, said_by: As = None
) -> Recorded:
    """Report on instances. Each report is accepted or refused by itself; many are committed in portions, in order."""
    if not 1 <= len(data.reports) <= MOST_REPORTS:
        raise InvalidStatus(f"{len(data.reports)} reports; send 1 to {MOST_REPORTS:,}", field="reports")
    offset = clock_offset(request.headers)
    return await state.status.add(data.reports, author(request, said_by), call, offset)  # type: ignore[no-any-return]


@get("/entity-graph")
async def get_entity_graph(
    state: State,
    entity: OptionalText = None,
    direction: Annotated[str, QueryParameter(description="upstream, downstream or both.")] = "both",
    depth: Depth = 100,
    tag: OptionalText = None,
    group: OptionalText = None,
    as_of: Time = None,
    max_nodes: MaxNodes = 2000,
) -> entity_graph.EntityGraph:
    """Return the graph of entities, or of their teams' and products' tags."""
    return await entity_graph.graph(
        state.database,
        entity=entity,
        direction=direction,  # type: ignore[arg-type]  # the answer refuses others
        depth=depth,
        tag=tag,
        group=group,
        as_of=aware(as_of),
        max_nodes=max_nodes,
    )


@get("/instances", opt={"waits": True})
async def follow_instances(
    state: State,
    since: Annotated[int, QueryParameter(ge=0, description="The last seq that you have.")] = 0,
    entity: OneOrMore = None,
    wait: Wait = 0.0,
    limit: Limit = 1000,
) -> log.StatusLog:
    """List reports on instances after a seq, waiting for them."""
    return await log.since(state.database, state.news, since, entities=entity or (), limit=max(limit, 1), wait=wait)


handlers = (
    list_entities,
    apply_entities,
    get_contradictions,
    get_entity,
    get_entity_history,
    get_status,
    get_instance,
    get_periods,
    post_instances_at,
    post_drift,
    get_readiness,
    post_readiness,
    get_suspects,
    report_instances,
    follow_instances,
    get_entity_graph,
)
