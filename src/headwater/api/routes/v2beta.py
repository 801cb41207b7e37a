"""`/api/v2beta`: the search of Marquez's page when it is built for an index; Headwater needs no other server for it."""

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
    """Find jobs, with their facets and those of their latest run, and the matching places."""
    return await search.job_documents(state.database, parameters.not_blank("q", words))


@get("/search/datasets")
async def dataset_documents(state: State, words: Words = None) -> shapes.DatasetHits:
    """Find datasets, with their facets and the matching places."""
    return await search.dataset_documents(state.database, parameters.not_blank("q", words))


router = Router(
    "/api/v2beta",
    route_handlers=[job_documents, dataset_documents],
    exception_handlers=REFUSALS,
    tags=["OpenLineage and Marquez"],
)
