"""`/api/v2`: find and show datasets and jobs."""

from typing import Annotated, cast
from urllib.parse import unquote

from litestar import Response, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer import objects
from headwater.answer.lineage import catalog, dashboards, find, lineage_answer, resident_jobs, sources
from headwater.answer.status import schedule_search, scheduled_dataset
from headwater.api.routes.v2.parameters import Flag, Limit, Offset, OptionalText, Segment, Text, Time
from headwater.model.moments import aware

Children = Annotated[bool, QueryParameter(description="Also jobs that are one statement of the job above them.")]


@get("/search")
async def get_search(
    state: State,
    q: Text,
    type: OptionalText = None,
    namespace: OptionalText = None,
    tag: OptionalText = None,
    owner: OptionalText = None,
    platform: OptionalText = None,
    children: Children = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> schedule_search.ScheduledResult:
    """Find datasets, jobs and schedules by words in names, columns, tags, owners, descriptions and SQL."""
    narrow = {"type": type, "namespace": namespace, "tag": tag, "owner": owner, "platform": platform}
    return await schedule_search.search_everything(
        state.database, q, **narrow, children=children, limit=limit, offset=offset
    )


@get("/resolve")
async def resolve(state: State, name: Text, type: OptionalText = None) -> find.Resolution:
    """Resolve a name, or an ending of one, to a dataset or job; the name of an entity to the dataset that holds it."""
    return await objects.resolve_name(state.database, name, type)


@get("/objects")
async def get_object(state: State, text: Text) -> lineage_answer.FoundObjects:
    """Resolve a text to whatever it means: a dataset, column, job, run, version, instance, item or content."""
    return await objects.find_object(state.database, text)


@get("/datasets")
async def datasets(
    state: State,
    namespace: OptionalText = None,
    q: OptionalText = None,
    platform: OptionalText = None,
    tag: OptionalText = None,
    owner: OptionalText = None,
    trait: OptionalText = None,
    sort: Text = "updated",
    order: OptionalText = None,
    facets: Flag = False,
    limit: Limit = 100,
    offset: Offset = 0,
) -> catalog.Datasets:
    """List datasets, the one with the latest event first, or by name; with `facets`, count them."""
    listing = catalog.Listing(namespace, q, platform, tag, owner, sort, order, facets, limit, offset, trait=trait)
    return await catalog.datasets(state.database, listing)


@get("/sources")
async def get_sources(
    state: State, namespace: OptionalText = None, limit: Limit = 100, offset: Offset = 0
) -> sources.Sources:
    """List what datasets live in, and what reports about it."""
    return await sources.sources(state.database, namespace=namespace, limit=limit, offset=offset)


@get("/jobs")
async def jobs(
    state: State,
    namespace: OptionalText = None,
    q: OptionalText = None,
    tag: OptionalText = None,
    owner: OptionalText = None,
    trait: OptionalText = None,
    parent: Annotated[
        str | None,
        QueryParameter(max_length=10_000, description="A job's id: the jobs below it. `none`: jobs without a parent."),
    ] = None,
    children: Children = False,
    sort: Text = "updated",
    order: OptionalText = None,
    facets: Flag = False,
    limit: Limit = 100,
    offset: Offset = 0,
) -> catalog.Jobs:
    """List jobs, the one with the latest event first, or by name; with `facets`, count them."""
    listing = catalog.Listing(
        namespace, q, None, tag, owner, sort, order, facets, limit, offset, parent, trait, children
    )
    encoded = await resident_jobs.jobs(state.resident, listing)
    if encoded is not None:
        return cast("catalog.Jobs", Response(encoded, media_type="application/json"))
    return await catalog.jobs(state.database, listing)


@get("/dashboards")
async def list_dashboards(
    state: State,
    q: OptionalText = None,
    tool: OptionalText = None,
    shows: OptionalText = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> dashboards.DashboardList:
    """List dashboards, charts and questions of BI tools, with the datasets that each shows; `shows`: those that show this dataset."""
    return await dashboards.dashboards(state.database, words=q, tool=tool, shows=shows, limit=limit, offset=offset)


@get("/datasets/{namespace:str}/{name:str}")
async def dataset(
    state: State, namespace: Segment, name: Segment, as_of: Time = None
) -> scheduled_dataset.ScheduledDataset:
    """Return one dataset: schema, versions, producers, consumers, inherited tags, schedules."""
    return await scheduled_dataset.dataset(state.database, unquote(namespace), unquote(name), aware(as_of))


@get("/jobs/{namespace:str}/{name:str}")
async def job(state: State, namespace: Segment, name: Segment, as_of: Time = None) -> catalog.Job:
    """Return one job: inputs, outputs, latest runs."""
    return await catalog.job(state.database, unquote(namespace), unquote(name), aware(as_of))


handlers = [get_sources, get_search, resolve, get_object, list_dashboards, datasets, jobs, dataset, job]
