"""Observed lineage against policies: what breaks which, on what way, and how sure that is."""

import datetime as dt
import uuid
from collections.abc import Iterable, Sequence

import msgspec

from headwater.answer.privacy.carried import MASKED, PLAIN, carry
from headwater.answer.privacy.where import MOST_DATASETS, carrying_columns, load_names
from headwater.entities.privacy.policies import Policy, PolicyFile, read_policies
from headwater.model.patterns import Pattern
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment

_DATASET = "dataset:"


class Violation(msgspec.Struct, frozen=True):
    """A dataset, and a column of a tagged value, that breaks a policy. `path`: the evidence, datasets and jobs in turn. `certain`: false where a
    step is not known by column. `expired`: the reason of an exception that has ended.
    """

    dataset: str
    column: str | None
    handling: str | None
    certain: bool
    path: list[str]
    expired: str | None


class PolicyResult(msgspec.Struct, frozen=True):
    """One policy. `looked_at`: columns that carry the tag, or datasets that the policy is about; 0: it checked nothing. `excepted`: violations
    that an exception allows. `hidden`: datasets past the limit of 5,000.
    """

    name: str
    file: str
    line: int
    rule: str
    looked_at: int
    violations: list[Violation]
    excepted: int
    hidden: int


class PolicyCheck(msgspec.Struct, frozen=True):
    """`violations`: of all policies together."""

    policies: list[PolicyResult]
    violations: int


class CheckQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """Texts of policies, and the time whose lineage is checked (without a zone, UTC): null is now."""

    files: list[PolicyFile]
    as_of: dt.datetime | None = None


async def check(database: Database, question: CheckQuestion) -> PolicyCheck:
    """Check observed lineage against the policies. Raises InvalidPolicies."""
    return await check_policies(database, read_policies(question.files), question.as_of)


async def check_policies(database: Database, policies: Sequence[Policy], at: dt.datetime | None = None) -> PolicyCheck:
    """Check observed lineage of a time against policies. Without a zone it is UTC; None: now."""
    if at is not None and at.tzinfo is None:
        at = at.replace(tzinfo=dt.UTC)
    moment = Moment(at or "infinity")
    day = (at or dt.datetime.now(dt.UTC)).astimezone(dt.UTC).date()
    async with database.snapshot() as connection:
        found = [
            await (_of_tag if policy.tag else _of_datasets)(connection, policy, moment, day) for policy in policies
        ]
    return PolicyCheck(found, sum(len(one.violations) for one in found))


async def _of_tag(connection: Connection, policy: Policy, moment: Moment, day: dt.date) -> PolicyResult:
    carried = await carry(connection, policy.tag, moment, MOST_DATASETS)
    columns = carrying_columns(carried, carried, await load_names(connection, carried))
    broken = []
    for one in columns:
        inside = _any(policy.patterns, one.dataset.removeprefix(_DATASET))
        if inside == (policy.rule == "never_in") and not (one.handling == MASKED and policy.masked_allowed):
            broken.append(Violation(one.dataset, one.column, one.handling, one.certain, one.path, None))
    return _result(policy, len(columns), broken, day, carried.hidden)


async def _of_datasets(connection: Connection, policy: Policy, moment: Moment, day: dt.date) -> PolicyResult:
    """Look at the jobs that write the datasets: what else they read (`never_reads`), or their names (`written_by`)."""
    ids = await name_store.matching(connection, [one.regex for one in policy.datasets])
    writes = await edge_store.at_datasets(connection, ids, "out", moment)
    reads = await edge_store.at_jobs(connection, {edge.job for edge in writes}, "in", moment)
    by_job: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in reads:
        by_job.setdefault(edge.job, set()).add(edge.dataset)
    found = await node_store.by_ids(connection, {one for edge in (*writes, *reads) for one in (edge.dataset, edge.job)})
    names = {id_: row.node_id for id_, row in found.items()}
    broken = []
    for edge in writes:
        if edge.dataset not in names or edge.job not in names:
            continue
        dataset, job = names[edge.dataset], names[edge.job]
        if policy.rule == "written_by":
            if not _any(policy.patterns, job.removeprefix("job:")):
                broken.append(Violation(dataset, None, None, True, [job, dataset], None))
            continue
        for source in sorted(names[one] for one in by_job.get(edge.job, ()) if one in names and one != edge.dataset):
            if _any(policy.patterns, source.removeprefix(_DATASET)):
                broken.append(Violation(dataset, None, None, True, [source, job, dataset], None))
    return _result(policy, len(ids), broken, day, 0)


def _any(patterns: Iterable[Pattern], name: str) -> bool:
    return any(one.matches(name) for one in patterns)


def _result(policy: Policy, looked_at: int, broken: Sequence[Violation], day: dt.date, hidden: int) -> PolicyResult:
    kept, excepted = [], 0
    for one in broken:
        name = one.dataset.removeprefix(_DATASET)
        if any(some.holds(name, day) for some in policy.exceptions):
            excepted += 1
            continue
        ended = next((some.reason for some in policy.exceptions if some.dataset.matches(name)), None)
        kept.append(msgspec.structs.replace(one, expired=ended))
    kept.sort(key=lambda one: (not one.certain, one.handling != PLAIN, one.dataset, one.column or "", one.path))
    return PolicyResult(
        policy.name, policy.file, policy.line, policy.rule, looked_at, kept, excepted, hidden,
    )  # fmt: skip
