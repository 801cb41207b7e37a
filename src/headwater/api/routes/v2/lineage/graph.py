"""`/api/v2`: the graph."""

import datetime as dt
from typing import Annotated, cast

from litestar import Response, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer import zoom
from headwater.answer.history import lineage_diff
from headwater.answer.lineage import conflicts, lineage, paths, perspectives, resident_lineage, view
from headwater.api.routes.v2.parameters import (
    Depth,
    Flag,
    Limit,
    MaxNodes,
    Offset,
    OneOrMore,
    OptionalText,
    Text,
    Time,
    WalkDepth,
)
from headwater.model.moments import aware


@get("/lineage")
async def get_lineage(
    state: State,
    node: Annotated[
        str,
        QueryParameter(
            max_length=20_000,
            description="A dataset, job, column, run, version, instance or item, by its id or name, or a file's fingerprint.",
        ),
    ],
    direction: Text = "both",
    depth: WalkDepth = 3,
    columns: Flag = False,
    field: OptionalText = None,
    max_nodes: MaxNodes = 2000,
    as_of: Time = None,
    to: Annotated[str | None, QueryParameter(max_length=20_000, description="Only the shortest ways to this.")] = None,
    wrong: Annotated[bool, QueryParameter(description="What may have made a run, version or instance wrong.")] = False,
    namespace: OneOrMore = None,
    tag: OneOrMore = None,
    type: OptionalText = None,
    job_type: OptionalText = None,
    last_state: Annotated[str | None, QueryParameter(name="state", max_length=100)] = None,
    origin: OptionalText = None,
    since: Time = None,
    collapse: Text = "none",
    group: OptionalText = None,
    hide: OneOrMore = None,
    platform: OneOrMore = None,
    owner: OneOrMore = None,
    bundle: Annotated[
        int,
        QueryParameter(
            ge=0,
            le=100_000,
            description="Draw more than so many nodes that are alike as one; 0: never. Not with a filter.",
        ),
    ] = 0,
    opened: Annotated[
        list[str] | None, QueryParameter(description="Bundles whose members are nodes of their own.")
    ] = None,
) -> view.View:
    """Return where something comes from and what depends on it; of datasets and jobs optionally filtered, collapsed or grouped."""
    question = lineage.Question(
        node, direction, depth, columns, field, max_nodes, aware(as_of), bundle, tuple(opened or ())
    )
    shape = view.Shape(
        tuple(namespace or ()),
        tuple(tag or ()),
        type,
        job_type,
        last_state,
        origin,
        aware(since),
        collapse,
        group,
        tuple(hide or ()),
        tuple(platform or ()),
        tuple(owner or ()),
    )
    asked = zoom.Zoom(to, wrong)
    if shape.plain and asked == zoom.Zoom() and node.startswith(("dataset:", "job:")):
        encoded = await resident_lineage.lineage(state.resident, question)
        if encoded is not None:
            return cast("view.View", Response(encoded, media_type="application/json"))
    answer = await zoom.lineage_of(state.database, question, shape, asked)
    # A subset of a view's fields: described as a view, so clients have one shape to read.
    return cast("view.View", answer)


@get("/lineage/diff")
async def get_lineage_diff(
    state: State,
    before: Annotated[dt.datetime, QueryParameter(name="from", description="ISO 8601; without a zone, UTC.")],
    after: Annotated[dt.datetime | None, QueryParameter(name="to", description="Default: now.")] = None,
    node: OptionalText = None,
    namespace: OptionalText = None,
    direction: Text = "both",
    depth: Depth = 3,
    columns: Flag = False,
    max_nodes: MaxNodes = 5000,
    children: Flag = False,
) -> lineage_diff.GraphDifference:
    """Compare the graph at two times, around a node or in a namespace."""
    question = lineage_diff.Question(
        aware(before) or before,
        aware(after) or dt.datetime.now(dt.UTC),
        node,
        namespace,
        direction,
        depth,
        columns,
        max_nodes,
        children,
    )
    return await lineage_diff.lineage_diff(state.database, question)


@get("/paths")
async def get_paths(
    state: State,
    source: Annotated[str, QueryParameter(name="from", max_length=20_000)],
    target: Annotated[str, QueryParameter(name="to", max_length=20_000)],
    from_field: OptionalText = None,
    to_field: OptionalText = None,
    direction: Text = "both",
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 10,
    max_length: Annotated[int, QueryParameter(ge=1, le=400)] = 40,
    as_of: Time = None,
) -> paths.Paths:
    """Find the shortest paths between two datasets, jobs or columns."""
    question = paths.Question(source, target, from_field, to_field, direction, limit, max_length, as_of=aware(as_of))
    return await paths.paths(state.database, question)


@get("/conflicts")
async def get_conflicts(
    state: State,
    node: OptionalText = None,
    namespace: OptionalText = None,
    kind: OptionalText = None,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
    after: OptionalText = None,
    as_of: Time = None,
) -> conflicts.Conflicts:
    """List the edges that producers disagree about."""
    question = conflicts.Question(node, namespace, kind, limit, after, aware(as_of))
    return await conflicts.conflicts(state.database, question)


@get("/perspectives")
async def get_perspectives(
    state: State,
    namespace: OptionalText = None,
    perspective: OptionalText = None,
    disagreement: OneOrMore = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> perspectives.Perspectives:
    """List edges between datasets by perspective (the query log, dbt, Airflow, …), and their disagreements."""
    return await perspectives.perspectives(
        state.database,
        namespace=namespace,
        perspective=perspective,
        kinds=disagreement or (),
        limit=limit,
        offset=offset,
    )


handlers = [get_lineage, get_lineage_diff, get_paths, get_conflicts, get_perspectives]
