"""`/api/v2`: Headwater's own API, a module for each subject. docs/reference/api-v2.md describes each with an example."""

from litestar import Router

from headwater.api.routes.v2 import bad_runs, plans, privacy, server, stale, usage, whatif
from headwater.api.routes.v2.alerts import alerts, rules, subscriptions
from headwater.api.routes.v2.lineage import catalog, correlation, graph, runs
from headwater.api.routes.v2.people import metadata, views
from headwater.api.routes.v2.status import entities, entity_drafts, incidents

router = Router(
    "/api/v2",
    route_handlers=[
        *graph.handlers,
        *catalog.handlers,
        *runs.handlers,
        *correlation.handlers,
        *usage.handlers,
        *entities.handlers,
        *incidents.handlers,
        *entity_drafts.handlers,
        *plans.handlers,
        *bad_runs.handlers,
        *privacy.handlers,
        *alerts.handlers,
        *rules.handlers,
        *subscriptions.handlers,
        *whatif.handlers,
        *metadata.handlers,
        *views.handlers,
        *server.handlers,
        *stale.handlers,
    ],
    tags=["Headwater"],
)
