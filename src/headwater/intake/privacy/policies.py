"""Apply policies, and record what breaks them as events arrive."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from headwater.entities.privacy.policies import PolicyFile, read_policies
from headwater.intake.people.audit import Change
from headwater.store.alerts import applied_rules as store
from headwater.store.database import Database
from headwater.store.people import audit as audit_store
from headwater.store.privacy import violations as violation_store
from headwater.store.privacy.violations import FoundViolation


class AppliedPolicies(msgspec.Struct, frozen=True):
    """`changed`: False if the version before has the same texts, and stays."""

    version: int
    applied_at: dt.datetime
    policies: int
    changed: bool


async def apply_policies(database: Database, files: Sequence[PolicyFile], *, by: Change) -> AppliedPolicies:
    """Replace the policies that hold by those of these files; without a file none holds. Raises InvalidPolicies, and changes nothing."""
    count = len(read_policies(files)) if files else 0
    text = msgspec.json.encode(files).decode()
    async with database.transaction() as connection:
        await store.lock(connection)
        held = await store.versions(connection, "policies", 1)
        if held and msgspec.json.decode(held[0].files) == msgspec.json.decode(text):
            return AppliedPolicies(held[0].version, held[0].applied_at, count, False)
        version, at = await store.apply(connection, "policies", text, by.actor)
        await audit_store.append(connection, by)
    return AppliedPolicies(version, at, count, True)


async def record_violations(database: Database, found: Sequence[FoundViolation]) -> None:
    """Store what breaks the policies now: what is new begins, and what is there no more ends."""
    async with database.transaction() as connection:
        await store.lock(connection)
        held = {(one.policy, one.subject, one.field): one.id for one in await violation_store.load_open(connection)}
        now = {(one.policy, one.subject, one.field): one for one in found}
        if fresh := [one for key, one in now.items() if key not in held]:
            await violation_store.add(connection, fresh)
        if gone := [id_ for key, id_ in held.items() if key not in now]:
            await violation_store.end(connection, gone)
