"""`/api/v1`: OpenLineage in, and Marquez's API. docs/reference/api-v1.md says what is served and where it differs on purpose."""

from litestar import Router

from headwater.api.routes.v1 import events_in, graphs, reads, writes
from headwater.api.routes.v1.refusals import REFUSALS

marquez = Router("/", route_handlers=[*reads.HANDLERS, *graphs.HANDLERS, *writes.HANDLERS], exception_handlers=REFUSALS)

router = Router("/api/v1", route_handlers=[*events_in.HANDLERS, marquez], tags=["OpenLineage and Marquez"])
