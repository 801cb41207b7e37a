"""The applied policies: their texts, their versions, what breaks them now and broke them before."""

import datetime as dt

import msgspec

from headwater.answer.lineage.find import node_row
from headwater.answer.privacy.check import check_policies
from headwater.entities.privacy.policies import PolicyFile, read_in_part
from headwater.model.names import short
from headwater.store.alerts import applied_rules as store
from headwater.store.database import Database
from headwater.store.privacy import violations as violation_store
from headwater.store.privacy.violations import FoundViolation

_files = msgspec.json.Decoder(list[PolicyFile])


class PolicyVersion(msgspec.Struct, frozen=True):
    version: int
    applied_at: dt.datetime
    applied_by: str


class OpenViolation(msgspec.Struct, frozen=True):
    """`since`: when a look found it first. `path`: the evidence, datasets and jobs in turn."""

    policy: str
    dataset: str
    column: str | None
    text: str
    path: list[str]
    since: dt.datetime


class AppliedPolicyFiles(msgspec.Struct, frozen=True):
    """The policies that hold, and what breaks them. `problems`: why this server does not check some of what the files say."""

    version: int | None
    files: list[PolicyFile]
    versions: list[PolicyVersion]
    violations: list[OpenViolation]
    problems: list[str]


async def applied_policies(database: Database, limit: int = 20) -> AppliedPolicyFiles:
    """Return the policies that hold, their versions and their violations."""
    async with database.snapshot() as connection:
        versions = await store.versions(connection, "policies", limit)
        broken = await violation_store.load_open(connection)
    files = _files.decode(versions[0].files) if versions else []
    return AppliedPolicyFiles(
        versions[0].version if versions else None,
        files,
        [PolicyVersion(one.version, one.applied_at, one.applied_by) for one in versions],
        [OpenViolation(one.policy, one.subject, one.field or None, one.text, one.path, one.since) for one in broken],
        read_in_part(files).problems,
    )


async def find_violations(database: Database) -> list[FoundViolation] | None:
    """Return what breaks the policies that hold; None if none was ever applied.

    An earlier Headwater may have accepted what this one cannot read: what broke such a policy stays as it was.
    """
    async with database.snapshot() as connection:
        versions = await store.versions(connection, "policies", 1)
    if not versions:
        return None
    files = _files.decode(versions[0].files)
    if not files:
        return []
    policies, problems = read_in_part(files)
    found = await check_policies(database, policies)
    violations = []
    async with database.snapshot() as connection:
        if problems:
            checked = {one.name for one in policies}
            violations += [
                FoundViolation(one.policy, one.dataset, one.subject, one.label, one.field, one.text, one.path)
                for one in await violation_store.load_open(connection) if one.policy not in checked
            ]  # fmt: skip
        for policy in found.policies:
            for one in policy.violations:
                row = await node_row(connection, one.dataset)
                way = " → ".join(each.rpartition(":")[2] for each in one.path)
                perhaps = "" if one.certain else "perhaps: "
                expired = f"; its exception has ended: {one.expired}" if one.expired else ""
                violations.append(
                    FoundViolation(
                        policy.name, row.id, row.node_id, short(row.name), one.column or "", f"{policy.name}: {perhaps}{way}{expired}", one.path
                    )
                )  # fmt: skip
    return violations
