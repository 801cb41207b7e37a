"""The traits that failing jobs share and others do not: engine, cluster, table, deploy, host, owner. See docs/explanation/why.md."""

import asyncio
import datetime as dt
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from headwater.answer.history import run_aspects
from headwater.answer.lineage import node
from headwater.answer.people.people import Words
from headwater.errors import InvalidQuestion
from headwater.model.moments import earlier
from headwater.model.observation import Aspect, Kind, Observation
from headwater.model.run import RunState
from headwater.model.shared_traits import Finding, find_shared
from headwater.store.database import Connection, Database
from headwater.store.history import facets as facet_store
from headwater.store.history import why as store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.runs import RunRow
from headwater.store.people import annotations as annotation_store

_MOST_JOBS = 1_500
_USUALLY_SINCE = dt.timedelta(days=1)
_GOOD_FOR = dt.timedelta(days=7)
_MOST_LISTED = 20


class SharedTrait(msgspec.Struct):
    kind: str
    name: str
    value: str


class SharedTraits(msgspec.Struct, kw_only=True):
    """Traits that no run tells apart. Counts are of jobs: the latest bad run of each, and the latest good one.

    `lift`: how many times as often runs with them are bad as runs without; None: none without them is. `low`, `high`: 95 % confidence interval of
    the odds ratio. `chance`: the probability of this if nothing were shared, corrected for the number of traits tested. `jobs`: at most 20 of those
    that fail.
    """

    traits: list[SharedTrait]
    bad_with: int
    good_with: int
    bad_without: int
    good_without: int
    lift: float | None
    low: float
    high: float
    chance: float
    jobs: list[str]


class Failing(msgspec.Struct, kw_only=True):
    """Jobs with a bad run since a time. `examined_bad` of `bad` jobs and `examined_good` of `good` ones were compared.

    `findings`: the strongest first; empty if nothing stands out. `unexplained`: jobs with a bad run that no finding has.
    """

    since: dt.datetime
    bad: int
    good: int
    examined_bad: int
    examined_good: int
    tested: int
    findings: list[SharedTraits]
    unexplained: int


async def failing(database: Database, since: dt.datetime | None, until: dt.datetime | None = None) -> Failing:
    """Say what the jobs that failed between two times share; by default in the last day. Raises InvalidQuestion if `since` is not before `until`."""
    until = until or dt.datetime.now(dt.UTC)
    since = since or earlier(until, _USUALLY_SINCE)
    if since >= until:
        raise InvalidQuestion("`since` must be before `until`", parameter="since")
    async with database.snapshot() as connection:
        drawn = await store.latest_of_outcomes(connection, since, earlier(since, _GOOD_FOR), until, _MOST_JOBS)
        found = await run_aspects.load(connection, drawn.runs, steps=0)
        names = await node_store.by_ids(
            connection,
            {row.job_id for row in drawn.runs} | {row.parent_job_id for row in drawn.runs if row.parent_job_id},
        )
        owners = await _owners(connection, drawn.runs)
    nodes = {id_: row.node_id for id_, row in names.items()}
    observed = []
    for one in found:
        # The versions of inputs differ from job to job; that they read the same dataset may be shared.
        values = one.values | dict.fromkeys(one.versions, "read")
        row = one.row
        values[Aspect(Kind.TIME, "hour (UTC)")] = f"{row.began:%H}"
        values[Aspect(Kind.TAG, "namespace")] = names[row.job_id].namespace
        if row.parent_job_id in nodes:
            values[Aspect(Kind.UPSTREAM, "parent")] = nodes[row.parent_job_id]
        values |= {Aspect(Kind.USER, f"owner {owner}"): "owns it" for owner in owners.get(row.job_id, ())}
        observed.append(Observation(row.state != RunState.COMPLETED, values))
    # Thousands of runs with hundreds of traits: the loop must go on meanwhile.
    shared = await asyncio.to_thread(find_shared, observed)
    bad = sum(one.bad for one in observed)
    return Failing(
        since=since, bad=drawn.bad, good=drawn.good, examined_bad=bad, examined_good=len(observed) - bad, tested=shared.tested,
        findings=[_shared_traits(one, observed, drawn.runs, nodes) for one in shared.findings], unexplained=shared.unexplained,
    )  # fmt: skip


async def _owners(connection: Connection, rows: Sequence[RunRow]) -> dict[uuid.UUID, list[str]]:
    jobs = {row.job_id for row in rows}
    facets = await facet_store.of_owners(connection, jobs, ["ownership"])
    said = await annotation_store.of_owners(connection, jobs)
    return {
        id_: [
            owner.name
            for owner in Words(said.get(id_, ())).owners(node.decode_owners(facets.get(id_, {}).get("ownership")))
        ]
        for id_ in jobs
    }


def _shared_traits(
    one: Finding, observed: Sequence[Observation], rows: Sequence[RunRow], nodes: Mapping[uuid.UUID, str]
) -> SharedTraits:
    first = one.traits[0]
    listed = sorted(
        nodes[row.job_id]
        for row, each in zip(rows, observed, strict=True)
        if each.bad and each.values.get(first.aspect) == first.value
    )
    return SharedTraits(
        traits=[SharedTrait(trait.aspect.kind, trait.aspect.name, trait.value[:400]) for trait in one.traits],
        bad_with=one.bad_with, good_with=one.good_with, bad_without=one.bad_without, good_without=one.good_without, lift=one.lift, low=one.low,
        high=one.high, chance=one.chance, jobs=listed[:_MOST_LISTED],
    )  # fmt: skip
