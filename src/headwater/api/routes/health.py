"""Probes and metrics: whether the process is alive and ready, and its counters."""

import asyncio
from typing import Any

import msgspec
from litestar import Response, get
from litestar.datastructures import State

from headwater.answer import health
from headwater.answer.people import listeners
from headwater.api.metrics import CONTENT_TYPE
from headwater.errors import HeadwaterError

_PATIENCE = 1.0


class Health(msgspec.Struct):
    ok: bool
    reason: str | None = None


@get("/healthz", opt={"role": "anyone", "always": True}, tags=["Operation"])
async def healthz() -> Health:
    """Report that the process answers. Does not check the database, because a restart would not repair it."""
    return Health(True)


@get("/readyz", opt={"role": "anyone", "always": True}, tags=["Operation"])
async def readyz(state: State) -> Response[Health]:
    """Return 200 when the database answers within a second and every migration has run, else 503."""
    reason = None
    try:
        async with asyncio.timeout(_PATIENCE):
            reason = await health.unready(state.database) or None
    except TimeoutError:
        reason = "the database did not answer within a second"
    except HeadwaterError:
        reason = "the database does not answer"
    return Response(Health(reason is None, reason), status_code=503 if reason else 200)


@get("/metrics", opt={"role": "read", "always": True}, tags=["Operation"])
async def metrics(state: State) -> Response[bytes]:
    """Return the server's metrics in Prometheus's text format."""
    return await _metrics(state)


@get("/metrics", opt={"role": "anyone", "always": True}, tags=["Operation"])
async def public_metrics(state: State) -> Response[bytes]:
    """Return the server's metrics in Prometheus's text format."""
    return await _metrics(state)


async def _metrics(state: Any) -> Response[bytes]:
    log, heard = None, []
    try:
        async with asyncio.timeout(_PATIENCE):
            size = await health.log_size(state.database)
            heard = await listeners.figures(state.database)
            log = (size.bytes, size.events)
    except (TimeoutError, HeadwaterError):
        log = None  # headwater_database_up is 0 then
    return Response(state.metrics.text(log, heard), headers={"content-type": CONTENT_TYPE})
