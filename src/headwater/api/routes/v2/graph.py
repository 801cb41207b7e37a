"""`/api/v2`: questions about the graph."""

from litestar import get
from litestar.datastructures import State

from headwater.answer import lineage
from headwater.api.routes.v2.parameters import Depth, Flag, MaxNodes, OptionalText, Text, Time, utc


@get("/lineage")
async def get_lineage(
    state: State,
    node: Text,
    direction: Text = "both",
    depth: Depth = 3,
    columns: Flag = False,
    field: OptionalText = None,
    max_nodes: MaxNodes = 2000,
    as_of: Time = None,
) -> lineage.Lineage:
    """Where a dataset or job comes from and what depends on it."""
    question = lineage.Question(node, direction, depth, columns, field, max_nodes, utc(as_of))
    return await lineage.lineage(state.database, question, state.settings.lineage.live_runs)


handlers = [get_lineage]
