"""`/api/v2`: Headwater's own questions, a module for each subject. docs/reference/api-v2.md describes each with an example."""

from litestar import Router

from headwater.api.routes.v2 import (
    catalog,
    correlation,
    entities,
    entity_drafts,
    graph,
    measured,
    metadata,
    plans,
    runs,
    server,
)

router = Router(
    "/api/v2",
    route_handlers=[
        *graph.handlers,
        *catalog.handlers,
        *runs.handlers,
        *correlation.handlers,
        *measured.handlers,
        *entities.handlers,
        *entity_drafts.handlers,
        *plans.handlers,
        *metadata.handlers,
        *server.handlers,
    ],
    tags=["Headwater"],
)
