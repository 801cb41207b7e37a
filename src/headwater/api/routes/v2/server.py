"""`/api/v2`: the server itself, its producers, and names of datasets."""

from litestar import get
from litestar.datastructures import State

from headwater.answer import health
from headwater.answer.history import producers
from headwater.answer.people import identity
from headwater.api.routes.v2.parameters import Text, Time
from headwater.model.moments import aware
from headwater.settings import RetentionSettings


@get("/status")
async def status(state: State) -> health.Status:
    """Return the state of the database and the log, counts, and how long records are kept."""
    kept: RetentionSettings = state.settings.retention
    days = health.RetentionDays(kept.events_days, kept.runs_days, kept.warnings_days, kept.audit_days)
    return await health.status(state.database, days)


@get("/producers")
async def producer_list(state: State, since: Time = None) -> producers.Producers:
    """List producers, with delays and problems."""
    return await producers.producers(state.database, aware(since))


@get("/identity/try")
async def try_identity(state: State, namespace: Text, name: Text) -> identity.Placement:
    """Return which dataset a reported name becomes, and why."""
    return await identity.place(state.database, namespace, name)


@get("/near-misses")
async def near_misses(state: State) -> health.NearMisses:
    """List links that are probably missing because a dataset has two names."""
    return await health.near_misses(state.database)


handlers = [status, producer_list, near_misses, try_identity]
