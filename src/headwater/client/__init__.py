"""Build and deliver OpenLineage events without ever harming the host. Imports nothing heavy.

    emitter = emitter_from_environment()
    emitter.emit(event.run("START", run_id=event.run_id(), job=("sales", "daily")))

Refuses to know the server's code: it runs in other people's processes. Surface: docs/reference/client.md.
"""

import os

from headwater.client import config, context, event
from headwater.client.emitter import Emitter, Stats

__all__ = ["Emitter", "Stats", "context", "emitter_from_environment", "event"]


def emitter_from_environment(
    *,
    url: str | None = None,
    api_key: str | None = None,
    transport: str | None = None,
    file: str | os.PathLike[str] | None = None,
    spool: str | os.PathLike[str] | None = None,
    flush_seconds: float | None = None,
) -> Emitter:
    """An emitter to where the environment says (`headwater.client.config` has the order); arguments win. Never raises."""
    return Emitter(
        config.destination(
            url=url, api_key=api_key, transport=transport, file=file, spool=spool, flush_seconds=flush_seconds
        )
    )
