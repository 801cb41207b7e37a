"""Read namespaces, sources, tags, datasets, jobs and runs."""

from typing import Annotated, Any, cast
from urllib.parse import quote

from litestar import Request, Response, get
from litestar.datastructures import State
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter

from headwater.answer.marquez import datasets, jobs, namespaces, resident_jobs, runs, shapes, sources, tags
from headwater.api.routes.v1 import parameters
from headwater.api.routes.v1.parameters import Segment, Whole, decoded
from headwater.model.run import RunState

_MOVED = {
    301: ResponseSpec(
        None, False, "The name is an alias: the header `location` has the address with the job's full name."
    )
}
_STATES = ("NEW", "RUNNING", "COMPLETED", "ABORTED", "FAILED", "OTHER")


def _page(limit: str | None, offset: str | None) -> tuple[int, int]:
    return parameters.whole("limit", limit, 100), parameters.whole("offset", offset, 0)


async def moved(request: Request[Any, Any, Any], state: State, namespace: str, job: str) -> Response[None] | None:
    """Redirect (301) an alias to the address with the job's full name. Raises NotFound."""
    name = await jobs.canonical_name(state.database, decoded(namespace), decoded(job))
    if name == decoded(job):
        return None
    before, _, after = request.scope["path"].partition(f"/namespaces/{namespace}/jobs/{job}")
    query = request.scope["query_string"].decode("latin-1")
    place = f"{state.settings.server.root_path}{before}/namespaces/{namespace}/jobs/{quote(name, safe='')}{after}" + (
        f"?{query}" if query else ""
    )
    return Response(None, status_code=301, headers={"location": place})


@get("/namespaces")
async def namespace_list(state: State, limit: Whole = None, offset: Whole = None) -> shapes.Namespaces:
    """List namespaces by name, including hidden ones."""
    return await namespaces.page(state.database, *_page(limit, offset))


@get("/namespaces/{namespace:str}")
async def get_namespace(state: State, namespace: Segment) -> shapes.Namespace:
    """Return one namespace."""
    return await namespaces.get(state.database, decoded(namespace))


@get("/sources")
async def source_list(state: State, limit: Whole = None, offset: Whole = None) -> shapes.Sources:
    """List data sources by name."""
    return await sources.page(state.database, *_page(limit, offset))


@get("/sources/{source:str}")
async def get_source(state: State, source: Segment) -> shapes.Source:
    """Return one data source."""
    return await sources.get(state.database, decoded(source))


@get("/tags")
async def tag_list(state: State, limit: Whole = None, offset: Whole = None) -> shapes.Tags:
    """List tags by name."""
    return await tags.page(state.database, *_page(limit, offset))


@get("/namespaces/{namespace:str}/datasets")
async def dataset_list(state: State, namespace: Segment, limit: Whole = None, offset: Whole = None) -> shapes.Datasets:
    """List datasets of a namespace by name, each once."""
    return await datasets.page(state.database, decoded(namespace), *_page(limit, offset))


@get("/namespaces/{namespace:str}/datasets/{dataset:str}")
async def get_dataset(state: State, namespace: Segment, dataset: Segment) -> shapes.Dataset:
    """Return a dataset by any of its names."""
    return await datasets.get(state.database, decoded(namespace), decoded(dataset))


@get("/namespaces/{namespace:str}/datasets/{dataset:str}/versions")
async def dataset_version_list(
    state: State, namespace: Segment, dataset: Segment, limit: Whole = None, offset: Whole = None
) -> shapes.DatasetVersions:
    """List the versions of a dataset, newest first."""
    return await datasets.versions(state.database, decoded(namespace), decoded(dataset), *_page(limit, offset))


@get("/namespaces/{namespace:str}/datasets/{dataset:str}/versions/{version:str}")
async def get_dataset_version(
    state: State, namespace: Segment, dataset: Segment, version: Segment
) -> shapes.DatasetVersion:
    """Return one version of a dataset."""
    return await datasets.version(state.database, decoded(namespace), decoded(dataset), decoded(version))


States = Annotated[list[str] | None, QueryParameter(name="lastRunStates", description="States of the latest run.")]


async def _jobs(
    state: State, namespace: str | None, states: list[str] | None, limit: str | None, offset: str | None
) -> shapes.Jobs:
    wanted: set[RunState] = set()
    for text in states or ():
        if (told := parameters.choice("lastRunStates", text, _STATES)) is not None:
            # A run that only reported OTHER counts as running.
            wanted |= {RunState.RUNNING, RunState.OTHER} if told == "RUNNING" else {RunState[told]}
    page = _page(limit, offset)
    encoded = await resident_jobs.page(state.resident, namespace, wanted, *page)
    if encoded is not None:
        return cast("shapes.Jobs", Response(encoded, media_type="application/json"))
    return await jobs.page(state.database, namespace, wanted, *page)


@get("/jobs")
async def job_list_all(
    state: State, last_run_states: States = None, limit: Whole = None, offset: Whole = None
) -> shapes.Jobs:
    """List jobs of every namespace, most recently reported first."""
    return await _jobs(state, None, last_run_states, limit, offset)


@get("/namespaces/{namespace:str}/jobs")
async def job_list(
    state: State, namespace: Segment, last_run_states: States = None, limit: Whole = None, offset: Whole = None
) -> shapes.Jobs:
    """List jobs of a namespace, most recently reported first."""
    return await _jobs(state, decoded(namespace), last_run_states, limit, offset)


@get("/namespaces/{namespace:str}/jobs/{job:str}", responses=_MOVED)
async def get_job(
    request: Request[Any, Any, Any], state: State, namespace: Segment, job: Segment
) -> Response[shapes.Job] | Response[None]:
    """Return one job."""
    elsewhere = await moved(request, state, namespace, job)
    return elsewhere or Response(await jobs.get(state.database, decoded(namespace), decoded(job)))


@get("/namespaces/{namespace:str}/jobs/{job:str}/versions", responses=_MOVED)
async def job_version_list(
    request: Request[Any, Any, Any],
    state: State,
    namespace: Segment,
    job: Segment,
    limit: Whole = None,
    offset: Whole = None,
) -> Response[shapes.JobVersions] | Response[None]:
    """List the versions of a job, newest first."""
    page = _page(limit, offset)
    elsewhere = await moved(request, state, namespace, job)
    return elsewhere or Response(await jobs.versions(state.database, decoded(namespace), decoded(job), *page))


@get("/namespaces/{namespace:str}/jobs/{job:str}/versions/{version:str}", responses=_MOVED)
async def get_job_version(
    request: Request[Any, Any, Any], state: State, namespace: Segment, job: Segment, version: Segment
) -> Response[shapes.JobVersion] | Response[None]:
    """Return one version of a job."""
    elsewhere = await moved(request, state, namespace, job)
    return elsewhere or Response(await jobs.version(state.database, decoded(namespace), decoded(job), decoded(version)))


@get("/namespaces/{namespace:str}/jobs/{job:str}/runs", responses=_MOVED)
async def run_list(
    request: Request[Any, Any, Any],
    state: State,
    namespace: Segment,
    job: Segment,
    limit: Whole = None,
    offset: Whole = None,
) -> Response[shapes.Runs] | Response[None]:
    """List the runs of a job, newest first."""
    page = _page(limit, offset)
    elsewhere = await moved(request, state, namespace, job)
    return elsewhere or Response(await runs.page(state.database, decoded(namespace), decoded(job), *page))


@get("/jobs/runs/{run_id:str}")
async def get_run(state: State, run_id: Segment) -> shapes.Run:
    """Return one run."""
    return await runs.get(state.database, decoded(run_id))


@get("/jobs/runs/{run_id:str}/facets")
async def run_facets(
    state: State, run_id: Segment, facet_type: Annotated[str | None, QueryParameter(name="type")] = None
) -> shapes.RunFacets:
    """Return the facets of a run, or of its job as the run reported them."""
    wanted = parameters.choice("type", parameters.present("type", facet_type), runs.FACET_TYPES)
    return await runs.facets(state.database, decoded(run_id), wanted or "")


HANDLERS = [
    namespace_list, get_namespace, source_list, get_source, tag_list, dataset_list, get_dataset, dataset_version_list,
    get_dataset_version, job_list_all, job_list, get_job, job_version_list, get_job_version, run_list, get_run, run_facets,
]  # fmt: skip
