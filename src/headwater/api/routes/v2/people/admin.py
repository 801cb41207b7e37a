"""`/api/v2/admin`: routes for admins only."""

import datetime as dt
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from litestar import Request, Router, delete, get, post, put
from litestar.datastructures import State
from litestar.params import JSONBody, PathParameter, QueryParameter

from headwater.answer.history import log
from headwater.answer.people import audit, identity, keys
from headwater.api.audit import audited_change
from headwater.api.routes.v2 import dead_letters
from headwater.intake.events import accept
from headwater.intake.people import identity as identity_writes
from headwater.intake.people import keys as key_writes
from headwater.model.identity import Rule
from headwater.model.moments import aware

Limit = Annotated[int, QueryParameter(ge=0, le=10_000)]
Offset = Annotated[int, QueryParameter(ge=0)]
OptionalText = Annotated[str | None, QueryParameter(max_length=20_000)]
Time = Annotated[dt.datetime | None, QueryParameter(description="ISO 8601; without a zone, UTC.")]


class WantedKey(msgspec.Struct, forbid_unknown_fields=True):
    """`expires`: 12h, 90d, 4w, 1y; absent: never. `limits`: the datasets that a reader may see, each `namespace:PATTERN` (`*` stands for any
    text), `tag:NAME` or `tag:NAME:VALUE`; empty: all.
    """

    name: str
    role: str = "read"
    expires: str | None = None
    limits: tuple[str, ...] = ()


class WantedRules(msgspec.Struct, forbid_unknown_fields=True):
    """The rules that replace all present ones."""

    rules: tuple[Rule, ...]


class WantedEvent(msgspec.Struct):
    """An event of an archive: its bytes, its time of arrival, and its event time in the log. Times without a zone are UTC."""

    body: bytes
    received_at: dt.datetime
    event_time: dt.datetime


class WantedEvents(msgspec.Struct, forbid_unknown_fields=True):
    events: tuple[WantedEvent, ...]


class TakenIn(msgspec.Struct, frozen=True):
    """`accepted`: new to the log; `duplicates`: already in it."""

    accepted: int
    duplicates: int
    refused: list[accept.Refused]


@get("/log")
async def event_log(
    state: State,
    after: Annotated[str | None, QueryParameter(max_length=200, description="A number of arrival, or `next`.")] = None,
    upto: Annotated[int | None, QueryParameter(ge=0, le=2**62, description="The last number of arrival.")] = None,
    limit: Limit = 1000,
) -> log.LogPage:
    """List the event log in order of arrival; `body` is base64 of the received bytes."""
    return await log.page(state.database, after, upto, limit)


@post("/log", status_code=200)
async def take_in(request: Request[Any, Any, Any], state: State, data: JSONBody[WantedEvents]) -> TakenIn:
    """Import events of an archive unchanged, each independently; events that the log already has are skipped."""
    request.state.audit = {"action": "import_events", "target": "log", "detail": {"events": len(data.events)}}
    arrivals = [accept.Arrival(aware(one.received_at), aware(one.event_time)) for one in data.events]
    told = await state.intake.accept_each([one.body for one in data.events], arrivals)
    duplicates = sum(receipt.duplicate for receipt in told.receipts)
    return TakenIn(len(told.receipts) - duplicates, duplicates, told.refused)


@get("/audit")
async def audit_log(
    state: State,
    actor: OptionalText = None,
    target: OptionalText = None,
    since: Time = None,
    until: Time = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> audit.AuditPage:
    """List changes with their authors, the latest first."""
    return await audit.page(
        state.database,
        actor=actor,
        target=target,
        since=aware(since),
        until=aware(until),
        limit=limit,
        offset=offset,
    )


@get("/keys")
async def list_keys(state: State) -> keys.ApiKeys:
    """List all API keys, also revoked ones, without their secrets."""
    return await keys.keys(state.database)


@post("/keys", status_code=201)
async def create_key(request: Request[Any, Any, Any], state: State, data: JSONBody[WantedKey]) -> key_writes.NewKey:
    """Create an API key. Only this answer shows it."""
    expires: dt.timedelta | None = key_writes.age(data.expires) if data.expires else None
    detail: dict[str, object] = {"role": data.role, "expires": data.expires}
    if data.limits:
        detail["limits"] = [limit[:1000] for limit in data.limits[:100]]
    made = await key_writes.create(
        state.database,
        data.name,
        data.role,
        expires=expires,
        by=audited_change(request, "create_key", data.name[:100], detail, status=201),
        limits=data.limits,
    )
    request.state.audit = {"written": True}
    return made


@delete("/keys/{key:str}", status_code=200)
async def revoke_key(
    request: Request[Any, Any, Any], state: State, key: Annotated[str, PathParameter(description="Id or name.")]
) -> keys.ApiKey:
    """Revoke an API key; servers refuse it within five seconds."""
    name = unquote(key)
    revoked = await key_writes.revoke(state.database, name, by=audited_change(request, "revoke_key", name, {}))
    request.state.audit = {"written": True}
    return keys.describe_key(revoked)


@get("/identity")
async def identity_rules(state: State) -> identity.Rules:
    """Return the rules about dataset names."""
    return await identity.rules(state.database)


@put("/identity")
async def set_identity_rules(
    request: Request[Any, Any, Any],
    state: State,
    data: JSONBody[WantedRules],
    dry_run: Annotated[bool, QueryParameter(description="Return what would move without changing anything.")] = False,
) -> identity_writes.StoredRules:
    """Replace the rules about dataset names. The next rebuild applies them to earlier records."""
    detail: dict[str, object] = {"rules": msgspec.to_builtins(data.rules), **({"dry_run": True} if dry_run else {})}
    by = audited_change(request, "set_identity", "identity", detail)
    kept = await identity_writes.store_rules(state.database, data.rules, by=by, dry_run=dry_run)
    if not dry_run:
        request.state.audit = {"written": True}
    return kept


router = Router(
    "/api/v2/admin",
    route_handlers=[
        audit_log,
        event_log,
        take_in,
        list_keys,
        create_key,
        revoke_key,
        identity_rules,
        set_identity_rules,
        *dead_letters.handlers,
    ],
    opt={"role": "admin"},
    tags=["Administration"],
)
