"""`headwater mcp` as assistants start it: a process that speaks over its standard input and output, asked with the official client."""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.events import encoded, run_event


def test_an_assistant_asks_over_standard_input_and_output(server_process: str, run: Any) -> None:
    event = encoded(run_event("COMPLETE", "0199c0de-0000-7000-8000-00000000abcd", "mcp_job", ["/mcp/in"], ["/mcp/out"]))
    request = urllib.request.Request(f"{server_process}/api/v1/lineage", event, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=30).close()

    async def ask() -> tuple[list[str], Any, Any]:
        program = Path(sys.executable).parent / "headwater"
        started = StdioServerParameters(command=str(program), args=["mcp", "--url", server_process])
        async with Client(stdio_client(started)) as client:
            tools = await client.list_tools()
            answer = await client.call_tool("lineage", {"name": "/mcp/out", "direction": "upstream"})
            wrong = await client.call_tool("lineage", {"name": "/mcp/nothing"})
            return [tool.name for tool in tools.tools], answer, wrong

    names, answer, wrong = run(ask())
    assert "lineage" in names
    nodes = json.loads(answer.content[0].text)["nodes"]
    assert {one["id"] for one in nodes} == {"dataset:file:/mcp/out", "job:test:mcp_job", "dataset:file:/mcp/in"}
    assert wrong.is_error
    assert "/mcp/nothing" in wrong.content[0].text
