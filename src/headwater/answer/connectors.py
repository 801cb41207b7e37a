"""List connectors: how far behind each is, what its pulls did, when the next is due. Secrets are never shown."""

import datetime as dt

import msgspec

from headwater.errors import NotFound
from headwater.model.connector_kinds import KINDS
from headwater.store.connectors import connectors as store
from headwater.store.database import Database

_LISTED_PULLS = 50


class ConnectorPull(msgspec.Struct, frozen=True):
    """`refused`: events that were not accepted. `warnings`: what was left out, and why. `error`: null of a complete pull."""

    started_at: dt.datetime
    ended_at: dt.datetime
    seconds: float
    rows: int
    events: int
    refused: int
    warnings: list[str]
    error: str | None


class ConnectorState(msgspec.Struct, frozen=True):
    """`state`: new, pulling, works, failing or paused. `lag_seconds`: the age of the newest record that a complete pull read, else of
    its begin; null before the first. `next_pull_at`: null while it is paused."""

    name: str
    kind: str
    state: str
    options: dict[str, str]
    has_secrets: bool
    every_seconds: int
    created_at: dt.datetime
    created_by: str
    next_pull_at: dt.datetime | None
    lag_seconds: float | None
    failures: int
    failing_since: dt.datetime | None
    last_error: str | None
    last: ConnectorPull | None


class ConnectorList(msgspec.Struct, frozen=True):
    connectors: list[ConnectorState]


class ConnectorHistory(msgspec.Struct, frozen=True):
    """A connector with its last pulls, the last first."""

    connector: ConnectorState
    pulls: list[ConnectorPull]


class KindOption(msgspec.Struct, frozen=True):
    """One thing that a kind asks for."""

    name: str
    text: str
    required: bool
    secret: bool
    default: str | None


class KindView(msgspec.Struct, frozen=True):
    """A kind of connector: what it reads, and what it asks for."""

    name: str
    reads: str
    every_seconds: int
    options: list[KindOption]


class KindList(msgspec.Struct, frozen=True):
    kinds: list[KindView]


async def connectors(database: Database) -> ConnectorList:
    """Return all, by name."""
    async with database.connection() as connection:
        return ConnectorList([_state(one) for one in await store.connectors(connection)])


async def connector(database: Database, name: str) -> ConnectorHistory:
    """Return one with its pulls. Raises NotFound."""
    async with database.snapshot() as connection:
        held = await store.connectors(connection, name)
        pulls = await store.pulls(connection, name, _LISTED_PULLS)
    if not held:
        raise NotFound(f"no connector is called {name!r}; list them with `headwater connect list`", name=name)
    return ConnectorHistory(_state(held[0]), [_pull(one) for one in pulls])


def kinds() -> KindList:
    """Return what each kind asks for, by name."""
    return KindList(
        [
            KindView(
                kind.name,
                kind.reads,
                kind.every_seconds,
                [KindOption(one.name, one.text, one.required, one.secret, one.default) for one in kind.options],
            )
            for _, kind in sorted(KINDS.items())
        ]
    )


def _state(one: store.StoredConnector) -> ConnectorState:
    complete = one.last_complete
    since = complete and (complete.newest_at or complete.started_at)
    return ConnectorState(
        one.name, one.kind, _word(one), one.options, one.secrets is not None, one.every_seconds, one.created_at,
        one.created_by, None if one.paused else one.next_pull_at,
        round((dt.datetime.now(dt.UTC) - since).total_seconds(), 1) if since else None,
        one.failures, one.failing_since, one.last_error, _pull(one.last) if one.last else None,
    )  # fmt: skip


def _word(one: store.StoredConnector) -> str:
    if one.pulling:
        return "pulling"
    if one.paused:
        return "paused"
    if one.failing_since is not None:
        return "failing"
    return "works" if one.last else "new"


def _pull(one: store.PullRow) -> ConnectorPull:
    seconds = round((one.ended_at - one.started_at).total_seconds(), 3)
    return ConnectorPull(
        one.started_at, one.ended_at, seconds, one.rows, one.events, one.refused, list(one.warnings), one.error
    )
