"""`/api/v2`: the server itself, and who sends it what."""

from litestar import get
from litestar.datastructures import State

from headwater.answer import health
from headwater.answer.history import producers
from headwater.answer.people import identity
from headwater.api.routes.v2.parameters import Text, Time
from headwater.model.moments import aware


@get("/status")
async def status(state: State) -> health.Status:
    """The database, the log, how much there is."""
    return await health.status(state.database)


@get("/producers")
async def producer_list(state: State, since: Time = None) -> producers.Producers:
    """How each producer is doing."""
    return await producers.producers(state.database, aware(since))


@get("/identity/try")
async def try_identity(state: State, namespace: Text, name: Text) -> identity.Placement:
    """Where a dataset told by this name would go, and why."""
    return await identity.place(state.database, namespace, name)


@get("/near-misses")
async def near_misses(state: State) -> health.NearMisses:
    """Links that are probably missing because one dataset goes by two names."""
    return await health.near_misses(state.database)


handlers = [status, producer_list, near_misses, try_identity]
