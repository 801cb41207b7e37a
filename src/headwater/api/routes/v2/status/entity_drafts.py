"""`/api/v2`: drafts of declarations from observed runs."""

from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from headwater.answer.status import entity_drafts
from headwater.api.routes.v2.parameters import Depth, OptionalText

MostDatasets = Annotated[int, QueryParameter(ge=1, le=500, description="Most datasets to look at, by name.")]


@get("/entity-drafts")
async def get_entity_drafts(
    state: State,
    namespace: OptionalText = None,
    node: OptionalText = None,
    depth: Depth = 100,
    limit: MostDatasets = 100,
) -> entity_drafts.EntityDrafts:
    """Draft declarations of entities from lineage, with their evidence."""
    return await entity_drafts.drafts(state.database, namespace=namespace, node=node, depth=depth, limit=limit)


handlers = (get_entity_drafts,)
