"""`/api/v2`: figures from query logs: usage, cost, recurrence, unused datasets, and coverage."""

import datetime as dt
from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.lineage.sorting import Page
from headwater.answer.usage import cost, coverage, pruning, quality, recurrence, usage
from headwater.api.routes.v2.parameters import Flag, Limit, Offset, OneOrMore, OptionalText, Text, Time
from headwater.model.moments import aware

Day = Annotated[dt.date | None, QueryParameter(description="ISO 8601, as in 2026-11-20.")]
Classes = Annotated[list[str] | None, QueryParameter(name="class", description="Repeatable; one match is enough.")]
Wave = Annotated[int | None, QueryParameter(ge=1, le=2**62, description="Up to this wave.")]


@get("/usage")
async def get_usage(
    state: State,
    node: OptionalText = None,
    namespace: OptionalText = None,
    status: OneOrMore = None,
    actor_kind: OptionalText = None,
    unread_since: Time = None,
    sort: OptionalText = None,
    order: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> usage.Usage:
    """Show who reads and writes datasets, how often, and when last."""
    return await usage.usage(
        state.database,
        Page(sort, order, limit, offset),
        node=node,
        namespace=namespace,
        statuses=status or (),
        kind=actor_kind,
        unread_since=aware(unread_since),
    )


@get("/cost")
async def get_cost(
    state: State,
    grain: Text = "table",
    node: OptionalText = None,
    namespace: OptionalText = None,
    tool: OptionalText = None,
    actor_kind: OptionalText = None,
    sort: OptionalText = None,
    order: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> cost.Cost:
    """Return what tables, query shapes, users, tasks, models or tools cost."""
    return await cost.cost(
        state.database,
        Page(sort, order, limit, offset),
        grain=grain,
        node=node,
        namespace=namespace,
        tool=tool,
        kind=actor_kind,
    )


@get("/recurrence")
async def get_recurrence(
    state: State,
    node: OptionalText = None,
    namespace: OptionalText = None,
    classes: Classes = None,
    missing: Flag = False,
    sort: OptionalText = None,
    order: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> recurrence.Recurrence:
    """List query shapes that recur, and their missing runs."""
    return await recurrence.recurrence(
        state.database,
        Page(sort, order, limit, offset),
        node=node,
        namespace=namespace,
        classes=classes or (),
        missing=missing,
    )


@get("/pruning")
async def get_pruning(
    state: State,
    namespace: OptionalText = None,
    last_wave: Wave = None,
    min_confidence: Annotated[float, QueryParameter(description="From 0 to 1.")] = 0.0,
    sort: OptionalText = None,
    order: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> pruning.Pruning:
    """List unused datasets in a safe order of removal, with the saving."""
    return await pruning.pruning(
        state.database,
        Page(sort, order, limit, offset),
        namespace=namespace,
        last_wave=last_wave,
        min_confidence=min_confidence,
    )


@get("/quality")
async def get_quality(
    state: State,
    namespace: OptionalText = None,
    dialect: OptionalText = None,
    since: Day = None,
    until: Day = None,
    drop: Annotated[float, QueryParameter(description="By how much coverage may fall, from 0 to 1.")] = 0.05,
    limit: Limit = 100,
    offset: Offset = 0,
) -> quality.Quality:
    """Return how much of the query logs was understood, and whether that dropped."""
    return await quality.quality(
        state.database,
        namespace=namespace,
        dialect=dialect,
        since=since,
        until=until,
        allowed_drop=drop,
        limit=limit,
        offset=offset,
    )


@get("/coverage")
async def get_coverage(state: State, namespace: OptionalText = None) -> coverage.Coverage:
    """Return how much of the lineage is known: datasets with a writer and with columns, jobs that report."""
    return await coverage.coverage(state.database, namespace)


handlers = [get_coverage, get_usage, get_cost, get_recurrence, get_pruning, get_quality]
