"""Build and deliver OpenLineage events without ever harming the host. Imports nothing heavy.

    emitter = emitter_from_environment()
    emitter.emit(event.run("START", run_id=event.run_id(), job=("sales", "daily")))

Does not import the server's code: it runs in processes that it does not own. Interface: docs/reference/client.md.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.client import context, event
    from headwater.client.emitter import Emitter, Stats

__all__ = ["Emitter", "Stats", "context", "emitter_from_environment", "event"]


_HOMES = {"Emitter": "emitter", "Stats": "emitter"}


def __getattr__(name: str) -> Any:
    """Import modules and names of this package on first use: a program that only fingerprints a file needs none."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in {"config", "context", "event"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def emitter_from_environment(
    *,
    url: str | None = None,
    api_key: str | None = None,
    transport: str | None = None,
    file: str | os.PathLike[str] | None = None,
    spool: str | os.PathLike[str] | None = None,
    flush_seconds: float | None = None,
) -> Emitter:
    """Return an emitter to the environment's address (`headwater.client.config` has the order); arguments win. Never raises."""
    from headwater.client import config
    from headwater.client.emitter import Emitter

    return Emitter(
        config.destination(
            url=url, api_key=api_key, transport=transport, file=file, spool=spool, flush_seconds=flush_seconds
        )
    )
