"""`headwater mcp`: the server's questions as tools of the Model Context Protocol, for assistants."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli import server

if TYPE_CHECKING:
    from collections.abc import Mapping


def mcp(url: Annotated[str | None, typer.Option(help=server.URL_HELP)] = None) -> None:
    """Answer an assistant (Model Context Protocol) over standard input and output.

    It reads only.

    Over HTTP the server itself answers at /mcp, to those who may read.

      headwater mcp --url http://localhost:5000
    """
    from headwater.cli.extras import need

    need("mcp", "`headwater mcp`")
    from headwater.mcp.protocol import serve_stdio

    async def ask(path: str, parameters: Mapping[str, object]) -> bytes:
        return await asyncio.to_thread(server.ask, url, path, **dict(parameters))

    serve_stdio(ask)
