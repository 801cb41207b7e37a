"""`/api/v2`: runs."""

from typing import Annotated
from urllib.parse import unquote

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.history import failing, run_difference, why
from headwater.answer.lineage import run_lineage, runs
from headwater.api.routes.v2.parameters import (
    Depth,
    Flag,
    Limit,
    MaxNodes,
    Offset,
    OptionalText,
    Segment,
    Text,
    Time,
)
from headwater.model.moments import aware


@get("/runs")
async def run_list(
    state: State,
    job: OptionalText = None,
    run_state: Annotated[str | None, QueryParameter(name="state")] = None,
    parent: Annotated[
        str | None,
        QueryParameter(
            max_length=10_000, description="A run's id: the runs below it. `none`: runs that are part of no other."
        ),
    ] = None,
    stalled: Flag = False,
    label: OptionalText = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> runs.Runs:
    """List runs, the latest first; with `label`, those with a label such as `query=01b2` or `tag:team=web`."""
    return await runs.runs(
        state.database,
        job=job,
        state=run_state,
        parent=parent,
        limit=limit,
        offset=offset,
        stalled=stalled,
        label=label,
    )


@get("/runs/{run_id:str}")
async def run(state: State, run_id: Segment) -> runs.RunDetail:
    """Return one run: the versions it read and wrote, parameters, code, children."""
    return await runs.run(state.database, unquote(run_id))


@get("/runs/{run_id:str}/lineage")
async def get_run_lineage(
    state: State,
    run_id: Segment,
    direction: Text = "both",
    depth: Depth = 3,
    max_nodes: MaxNodes = 2000,
    as_of: Time = None,
) -> run_lineage.RunLineage:
    """Return the versions that the run read and wrote, the runs that wrote the former, and those that read the latter."""
    question = run_lineage.Question(unquote(run_id), direction, depth, max_nodes, aware(as_of))
    return await run_lineage.run_lineage(state.database, question)


@get("/runs/{before:str}/diff/{after:str}")
async def get_run_difference(state: State, before: Segment, after: Segment) -> run_difference.RunDifference:
    """Compare two runs: code, SQL, parameters, inputs, what wrote those, engine, packages, cluster, environment, volume."""
    return await run_difference.run_difference(state.database, unquote(before), unquote(after))


@get("/why")
async def get_why(
    state: State,
    job: OptionalText = None,
    of_run: Annotated[str | None, QueryParameter(name="run")] = None,
) -> why.Why:
    """Say why a job fails or became slower, or why one run failed: what changed with it, the likeliest first."""
    return await why.why(state.database, job=job, run=of_run)


@get("/why/failing")
async def get_failing(state: State, since: Time = None, until: Time = None) -> failing.Failing:
    """Say what the jobs that failed since a time (a day ago by default) share, and those that ended well do not."""
    return await failing.failing(state.database, aware(since), aware(until))


handlers = [run_list, run, get_run_lineage, get_run_difference, get_why, get_failing]
