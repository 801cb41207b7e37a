"""The tools as a server of the protocol. The only user of the package `mcp`, which is the extra `headwater[mcp]`."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from headwater import __version__
from headwater.errors import HeadwaterError
from headwater.mcp.budget import encoded
from headwater.mcp.questions import Ask
from headwater.mcp.tools import TOOLS, call

_INSTRUCTIONS = (
    "Headwater knows where data comes from, what depends on it and how it is. One call answers one question. Every answer fits its `budget`; "
    "`left_out` counts what is missing and `how` says how to get it. "
    "An empty answer says why it is empty in `empty_because`. Nothing here changes anything."
)


def server(asking: Callable[[Any], Ask]) -> Server[Any]:
    """Return the server. `asking`: from a request (None over stdio) to how its questions are asked, with the caller's own rights."""

    async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        read_only = ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        return ListToolsResult(
            tools=[
                Tool(name=one.name, description=one.covers, input_schema=one.schema, annotations=read_only)
                for one in TOOLS
            ]
        )

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await call(asking(context.request), params.name, params.arguments or {})
        except HeadwaterError as error:
            return CallToolResult(
                content=[TextContent(type="text", text=f"{error.code}: {error.message}")], is_error=True
            )
        return CallToolResult(content=[TextContent(type="text", text=encoded(answer))])

    return Server(
        "headwater", version=__version__, instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def serve_stdio(ask: Ask) -> None:
    """Serve one client over standard input and output until it closes them."""

    async def serve() -> None:
        made = server(lambda _request: ask)
        async with stdio_server() as (reads, writes):
            await made.run(reads, writes, made.create_initialization_options())

    asyncio.run(serve())
