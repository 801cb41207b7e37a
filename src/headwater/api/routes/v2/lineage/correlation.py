"""`/api/v2`: lineage of single files and items, and earlier imports of content."""

from typing import Annotated
from urllib.parse import unquote

from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.lineage import correlation, imports
from headwater.api.routes.v2.parameters import MaxNodes, OptionalText, Segment, Text
from headwater.errors import InvalidQuestion

Steps = Annotated[
    str | None, QueryParameter(max_length=20, description="A number, or `all`. Default: as far as the table reaches.")
]
Fan = Annotated[
    int, QueryParameter(ge=1, le=1000, description="Mermaid: fold similar nodes when there are more than this many.")
]


@get("/correlation/{id:str}")
async def get_correlation(
    state: State,
    id: Segment,
    direction: Text = "both",
    depth: Steps = None,
    max_nodes: MaxNodes = 2000,
    format: Text = "json",
    fan: Fan = 4,
) -> correlation.Correlation | Response[str]:
    """Return events, details and lineage of an item, a run or a content."""
    question = correlation.Question(unquote(id), direction, depth, max_nodes)
    if format == "json":
        return await correlation.correlation(state.database, question)
    if format == "mermaid":
        return Response(await correlation.drawn(state.database, question, fan), media_type=MediaType.TEXT)
    raise InvalidQuestion(f"format {format[:40]!r} is neither json nor mermaid", parameter="format")


@get("/imports")
async def get_imports(
    state: State,
    fingerprint: Text,
    namespace: OptionalText = None,
    job: OptionalText = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> imports.Imports:
    """List completed runs that read this content, the newest first."""
    return await imports.imports(state.database, fingerprint, namespace, job, limit)


handlers = [get_correlation, get_imports]
