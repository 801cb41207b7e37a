"""`/api/v1`: OpenLineage intake, and Marquez's API. docs/reference/api-v1.md lists the routes and the intended differences."""

from litestar import Router

from headwater.api.routes.v1 import events_in, graphs, reads, writes
from headwater.api.routes.v1.refusals import REFUSALS

marquez = Router("/", route_handlers=[*reads.HANDLERS, *graphs.HANDLERS, *writes.HANDLERS], exception_handlers=REFUSALS)

router = Router("/api/v1", route_handlers=[*events_in.HANDLERS, marquez], tags=["OpenLineage and Marquez"])
