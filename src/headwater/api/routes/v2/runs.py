"""`/api/v2`: runs."""

from typing import Annotated
from urllib.parse import unquote

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer import runs
from headwater.api.routes.v2.parameters import Limit, Offset, OptionalText, Segment


@get("/runs")
async def run_list(
    state: State,
    job: OptionalText = None,
    run_state: Annotated[str | None, QueryParameter(name="state")] = None,
    parent: OptionalText = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> runs.Runs:
    """Runs, the latest first."""
    return await runs.runs(state.database, job=job, state=run_state, parent=parent, limit=limit, offset=offset)


@get("/runs/{run_id:str}")
async def run(state: State, run_id: Segment) -> runs.RunDetail:
    """One run: what it read and wrote in which version, parameters, code, children."""
    return await runs.run(state.database, unquote(run_id))


handlers = [run_list, run]
