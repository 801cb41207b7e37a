"""`/api/v2`: the server itself, and who sends it what."""

from litestar import get
from litestar.datastructures import State

from headwater.answer import health


@get("/status")
async def status(state: State) -> health.Status:
    """The database, the log, how much there is."""
    return await health.status(state.database)


@get("/producers")
async def producers(state: State) -> health.Producers:
    """Warnings by producer."""
    return await health.producers(state.database)


@get("/near-misses")
async def near_misses(state: State) -> health.NearMisses:
    """Links that are probably missing because one dataset goes by two names."""
    return await health.near_misses(state.database)


handlers = [status, producers, near_misses]
