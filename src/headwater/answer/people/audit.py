"""The audit log: the author, object and time of each change."""

import datetime as dt

import msgspec

from headwater.store.database import Database
from headwater.store.people import audit as audit_store


class AuditEntry(msgspec.Struct, frozen=True):
    """One change, or one that was refused."""

    id: int
    at: dt.datetime
    actor: str
    role: str
    method: str
    path: str
    action: str
    target: str | None
    status: int | None
    detail: msgspec.Raw


class AuditPage(msgspec.Struct, frozen=True):
    total: int
    entries: list[AuditEntry]


async def page(
    database: Database,
    *,
    actor: str | None = None,
    target: str | None = None,
    since: dt.datetime | None = None,
    until: dt.datetime | None = None,
    limit: int = 100,
    offset: int = 0,
) -> AuditPage:
    """Changes that match every filter given (`since` ≤ at < `until`), the latest first, and how many match in all."""
    async with database.snapshot() as connection:
        entries, total = await audit_store.page(
            connection, actor=actor, target=target, since=since, until=until, limit=limit, offset=offset
        )
    return AuditPage(
        total,
        [
            AuditEntry(e.id, e.at, e.actor, e.role, e.method, e.path, e.action, e.target, e.status, msgspec.Raw(e.detail.encode()))
            for e in entries
        ],
    )  # fmt: skip
