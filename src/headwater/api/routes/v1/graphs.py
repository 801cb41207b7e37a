"""Lineage of datasets, jobs, columns and runs; received events, search, and counts."""

from typing import Annotated, Any, cast

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.marquez import (
    column_lineage,
    events,
    lineage,
    resident_columns,
    resident_lineage,
    search,
    shapes,
    stats,
)
from headwater.api.routes.v1 import parameters
from headwater.api.routes.v1.parameters import Text, Whole, decoded
from headwater.errors import InvalidQuestion, NotFound

_DEPTH = 20
NodeText = Annotated[str | None, QueryParameter(name="nodeId")]
Direction = Annotated[str | None, QueryParameter(name="sortDirection")]


@get("/lineage")
async def lineage_graph(
    state: State,
    node_id: NodeText = None,
    depth: Whole = None,
    aggregate_by_parent: Annotated[str | None, QueryParameter(name="aggregateByParent")] = None,
) -> shapes.Lineage:
    """Return the graph around a dataset or a job; depth counts hops from job to job."""
    node, hops = parameters.present("nodeId", node_id), parameters.whole("depth", depth, _DEPTH, None)
    folded = parameters.flag(aggregate_by_parent)
    encoded = None if folded else await resident_lineage.get(state.resident, node, hops)
    if encoded is not None:
        return cast("shapes.Lineage", Response(encoded, media_type="application/json"))
    return await lineage.get(state.database, node, hops, folded)


@get("/column-lineage")
async def column_graph(
    state: State,
    node_id: NodeText = None,
    depth: Whole = None,
    with_downstream: Annotated[str | None, QueryParameter(name="withDownstream")] = None,
) -> shapes.ColumnGraph:
    """Return the graph of columns upstream of a dataset, a column or a job's outputs, and downstream on request."""
    node, hops = parameters.present("nodeId", node_id), parameters.whole("depth", depth, _DEPTH, None)
    below = parameters.flag(with_downstream)
    encoded = await resident_columns.get(state.resident, node, hops, below)
    if encoded is not None:
        return cast("shapes.ColumnGraph", Response(encoded, media_type="application/json"))
    return await column_lineage.get(state.database, node, hops, below)


@get("/runlineage/upstream")
async def upstream_runs(
    state: State, run_id: Annotated[str | None, QueryParameter(name="runId")] = None, depth: Whole = None
) -> shapes.UpstreamRuns:
    """Return the runs that wrote the inputs of a run, the runs that wrote their inputs, and so on."""
    return await lineage.upstream(
        state.database, parameters.present("runId", run_id), parameters.whole("depth", depth, _DEPTH, None)
    )


async def _events(
    state: State,
    before: str | None,
    after: str | None,
    sort_direction: str | None,
    limit: str | None,
    offset: str | None,
    namespace: str | None = None,
) -> shapes.Events:
    return await events.page(
        state.database,
        before=parameters.time("before", before),
        after=parameters.time("after", after),
        ascending=parameters.choice("sortDirection", sort_direction, ("DESC", "ASC")) == "ASC",
        namespace=namespace,
        limit=parameters.whole("limit", limit, 100),
        offset=parameters.whole("offset", offset, 0),
    )


@get(["/events/lineage", "/events"])
async def lineage_events(
    state: State,
    before: Text = None,
    after: Text = None,
    sort_direction: Direction = None,
    limit: Whole = None,
    offset: Whole = None,
) -> shapes.Events:
    """List run events as received, `after` ≤ eventTime < `before`."""
    return await _events(state, before, after, sort_direction, limit, offset)


@get("/events/{namespace:path}")
async def namespace_events(
    request: Request[Any, Any, Any],
    state: State,
    before: Text = None,
    after: Text = None,
    sort_direction: Direction = None,
    limit: Whole = None,
    offset: Whole = None,
) -> shapes.Events:
    """List run events of a namespace's jobs; marquez-python does not encode its slashes."""
    # Routing merges two slashes into one; the path as sent has both.
    sent = request.scope["raw_path"].partition(b"?")[0].decode("ascii", "replace")
    namespace = decoded(sent.partition("/api/v1/events/")[2])
    return await _events(state, before, after, sort_direction, limit, offset, namespace)


@get("/search")
async def search_names(
    state: State,
    q: Text = None,
    kind: Annotated[str | None, QueryParameter(name="filter")] = None,
    sort: Text = None,
    limit: Whole = None,
    namespace: Text = None,
    before: Text = None,
    after: Text = None,
) -> shapes.SearchResults:
    """Find datasets and jobs by words in their names."""
    words = parameters.not_blank("q", q)
    order = parameters.choice(
        "sort", "update_at" if (sort or "").lower() == "updated_at" else sort, ("NAME", "UPDATE_AT")
    )
    return await search.find(
        state.database,
        words,
        type_=parameters.choice("filter", kind, ("DATASET", "JOB")),
        by_time=order == "UPDATE_AT",
        limit=parameters.whole("limit", limit, 10),
        namespace=namespace,
        before=parameters.day("before", before),
        after=parameters.day("after", after),
    )


def _period(text: str | None) -> str:
    found = parameters.choice("period", text, ("DAY", "WEEK"))
    if found is None:
        raise InvalidQuestion("Invalid period")
    return found


@get("/stats/lineage-events")
async def event_figures(state: State, period: Text = None, timezone: Text = None) -> list[shapes.LineageMetric]:
    """Count run events by type: by hour of the last day or by day of the last week."""
    return await stats.lineage_events(state.database, _period(period), timezone)


@get(["/stats/jobs", "/stats/datasets", "/stats/sources"])
async def asset_figures(
    request: Request[Any, Any, Any], state: State, period: Text = None, timezone: Text = None
) -> list[shapes.IntervalMetric]:
    """Count assets: by hour of the last day or by day of the last week."""
    what = request.scope["path"].rstrip("/").rpartition("/")[2]
    return await stats.assets(state.database, what, _period(period), timezone)


@get("/{path:path}", include_in_schema=False)
async def nothing_here() -> None:
    """Answer 404 to unknown addresses of the API, instead of the page."""
    raise NotFound("HTTP 404 Not Found")


HANDLERS = [
    lineage_graph, column_graph, upstream_runs, lineage_events, namespace_events, search_names, event_figures, asset_figures,
    nothing_here,
]  # fmt: skip
