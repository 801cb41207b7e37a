"""`/api/v2beta`: the search that Marquez's page uses when it is built for an index; here it needs no other server."""

from typing import Annotated

from litestar import Router, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.marquez import search, shapes
from headwater.api.routes.v1 import parameters
from headwater.api.routes.v1.refusals import REFUSALS

Words = Annotated[str | None, QueryParameter(name="q")]


@get("/search/jobs")
async def job_documents(state: State, words: Words = None) -> shapes.JobHits:
    """Jobs with their facets and those of their latest run, and where the words are."""
    return await search.job_documents(state.database, parameters.not_blank("q", words))


@get("/search/datasets")
async def dataset_documents(state: State, words: Words = None) -> shapes.DatasetHits:
    """Datasets with their facets, and where the words are."""
    return await search.dataset_documents(state.database, parameters.not_blank("q", words))


router = Router(
    "/api/v2beta",
    route_handlers=[job_documents, dataset_documents],
    exception_handlers=REFUSALS,
    tags=["OpenLineage and Marquez"],
)
