"""`/api/v2`: Headwater's own questions. docs/reference/api-v2.md describes each with an example."""

import datetime as dt
from typing import Annotated
from urllib.parse import unquote

from litestar import Router, get
from litestar.datastructures import State
from litestar.params import PathParameter, QueryParameter

from headwater.answer import catalog, find, health, identity, lineage, runs

Limit = Annotated[int, QueryParameter(ge=0, le=10_000)]
Offset = Annotated[int, QueryParameter(ge=0)]
Text = Annotated[str, QueryParameter(max_length=20_000)]
OptionalText = Annotated[str | None, QueryParameter(max_length=20_000)]
Flag = Annotated[bool, QueryParameter()]
Time = Annotated[dt.datetime | None, QueryParameter(description="ISO 8601; without a zone, UTC.")]
Segment = Annotated[str, PathParameter(description="Percent-encoded whole.")]


def _time(time: dt.datetime | None) -> dt.datetime | None:
    """A time without a zone is UTC."""
    return time.replace(tzinfo=dt.UTC) if time is not None and time.tzinfo is None else time


@get("/lineage")
async def get_lineage(
    state: State,
    node: Text,
    direction: Text = "both",
    depth: Annotated[int, QueryParameter()] = 3,
    columns: Flag = False,
    field: OptionalText = None,
    max_nodes: Annotated[int, QueryParameter(ge=1, le=100_000)] = 2000,
    as_of: Time = None,
) -> lineage.Lineage:
    """Where a dataset or job comes from and what depends on it."""
    question = lineage.Question(node, direction, depth, columns, field, max_nodes, _time(as_of))
    return await lineage.lineage(state.database, question, state.settings.lineage.live_runs)


@get("/search")
async def search(state: State, q: Text, type: OptionalText = None, limit: Limit = 20) -> find.SearchResult:
    """Datasets and jobs by name, column or description."""
    return await find.search(state.database, q, type, limit)


@get("/resolve")
async def resolve(state: State, name: Text, type: OptionalText = None) -> find.Resolution:
    """What a person means by a name."""
    return await find.resolve(state.database, name, type)


@get("/datasets")
async def datasets(
    state: State, namespace: OptionalText = None, q: OptionalText = None, limit: Limit = 100, offset: Offset = 0
) -> catalog.Datasets:
    """Datasets, the latest spoken of first."""
    return await catalog.datasets(state.database, namespace=namespace, words=q, limit=limit, offset=offset)


@get("/jobs")
async def jobs(
    state: State, namespace: OptionalText = None, q: OptionalText = None, limit: Limit = 100, offset: Offset = 0
) -> catalog.Jobs:
    """Jobs, the latest spoken of first."""
    return await catalog.jobs(state.database, namespace=namespace, words=q, limit=limit, offset=offset)


@get("/datasets/{namespace:str}/{name:str}")
async def dataset(state: State, namespace: Segment, name: Segment, as_of: Time = None) -> catalog.Dataset:
    """One dataset: schema, versions, producers, consumers, tags it inherits."""
    return await catalog.dataset(state.database, unquote(namespace), unquote(name), _time(as_of))


@get("/jobs/{namespace:str}/{name:str}")
async def job(state: State, namespace: Segment, name: Segment, as_of: Time = None) -> catalog.Job:
    """One job: inputs, outputs, latest runs."""
    return await catalog.job(state.database, unquote(namespace), unquote(name), _time(as_of))


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


@get("/status")
async def status(state: State) -> health.Status:
    """The database, the log, how much there is."""
    return await health.status(state.database)


@get("/producers")
async def producers(state: State) -> health.Producers:
    """Warnings by producer."""
    return await health.producers(state.database)


@get("/near-misses")
async def near_misses(state: State) -> health.NearMisses:
    """Links that are probably missing because one dataset goes by two names."""
    return await health.near_misses(state.database)


@get("/identity/try")
async def try_identity(state: State, namespace: Text, name: Text) -> identity.Placement:
    """Where a dataset told by this name would go, and why."""
    return await identity.place(state.database, namespace, name)


router = Router(
    "/api/v2",
    route_handlers=[
        get_lineage,
        search,
        resolve,
        datasets,
        jobs,
        dataset,
        job,
        run_list,
        run,
        status,
        producers,
        near_misses,
        try_identity,
    ],
    tags=["Headwater"],
)
