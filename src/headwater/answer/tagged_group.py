"""A team or product, as a tag names it: what it has, what is wrong with that now, freshness, cost, and the groups it exchanges data with."""

import uuid
from collections import Counter
from collections.abc import Collection, Iterable

import msgspec

from headwater.answer.lineage import catalog, node
from headwater.answer.lineage.sorting import Page
from headwater.answer.status.freshness import freshness
from headwater.answer.status.open_incidents import OpenIncident, open_incidents
from headwater.answer.usage.cost import cost
from headwater.errors import InvalidQuestion, NotFound
from headwater.model.names import DatasetName
from headwater.model.version import dataset_id
from headwater.store.database import Connection, Database
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage.edges import Moment

_MOST = 1000
_MOST_JUDGED = 100_000
_OTHER = "(none)"


class NeighbouringGroup(msgspec.Struct, frozen=True):
    """`value`: of the same tag, or `(none)`. `datasets`: those the data passes through, at most three named. `count`: how many."""

    value: str
    datasets: list[str]
    count: int


class TaggedGroup(msgspec.Struct, frozen=True):
    """`datasets` and `jobs`: at most 1,000 of each; `total_datasets` and `total_jobs`: all. What follows is about those listed.

    `incidents`: open ones that are about one of them, or hit one. `freshness`: datasets by state. `money`: of the tables among them, by the
    query log; null if none is measured. `upstream`: groups whose datasets its jobs read; `downstream`: groups whose jobs read its datasets.
    """

    tag: str
    datasets: list[node.Node]
    total_datasets: int
    jobs: list[node.Node]
    total_jobs: int
    incidents: list[OpenIncident]
    freshness: dict[str, int]
    money: float | None
    upstream: list[NeighbouringGroup]
    downstream: list[NeighbouringGroup]


async def tagged_group(database: Database, tag: str) -> TaggedGroup:
    """Describe the group of a tag such as `team:web`. InvalidQuestion without a value, NotFound if nothing carries it."""
    key, colon, value = tag.partition(":")
    if not (key and colon and value):
        raise InvalidQuestion(
            f"tag {tag[:200]!r} has no value; name it as KEY:VALUE, such as team:web", parameter="tag"
        )
    datasets = await catalog.datasets(database, catalog.Listing(tag=tag, sort="name", limit=_MOST))
    jobs = await catalog.jobs(database, catalog.Listing(tag=tag, sort="name", limit=_MOST))
    if not datasets.total and not jobs.total:
        raise NotFound(f"no dataset or job has the tag {tag[:200]!r}", tag=tag[:200])
    mine = {one.id for one in (*datasets.datasets, *jobs.jobs)}
    opened = (await open_incidents(database, limit=_MOST_JUDGED)).incidents
    judged = (await freshness(database, state=None, namespace=None, limit=_MOST_JUDGED, offset=0)).freshness
    costs = (await cost(database, Page(limit=_MOST_JUDGED))).costs
    money = [one.money for one in costs if one.id in mine and one.money is not None]
    ids = {dataset_id(DatasetName(one.namespace, one.name)) for one in datasets.datasets}
    async with database.snapshot() as connection:
        upstream = await _neighbours(connection, ids, key, value, towards="upstream")
        downstream = await _neighbours(connection, ids, key, value, towards="downstream")
    return TaggedGroup(
        tag,
        datasets.datasets,
        datasets.total,
        jobs.jobs,
        jobs.total,
        [one for one in opened if mine & {one.id, one.cause.id, *(each.id for each in one.hit)}],
        dict(sorted(Counter(one.state for one in judged if one.id in mine).items())),
        sum(money) if money else None,
        upstream,
        downstream,
    )


async def _neighbours(
    connection: Connection, ids: Collection[uuid.UUID], key: str, value: str, *, towards: str
) -> list[NeighbouringGroup]:
    """The groups one job away from these datasets, by the datasets that belong to them, the one with most first."""
    near, far = ("out", "in") if towards == "upstream" else ("in", "out")
    jobs = {edge.job for edge in await edge_store.at_datasets(connection, ids, near, Moment("infinity"))}
    found = {edge.dataset for edge in await edge_store.at_jobs(connection, jobs, far, Moment("infinity"))} - set(ids)
    others: dict[str, list[str]] = {}
    for one in (await node.load(connection, found)).values():
        for name in _values(one.tags, key) or [_OTHER]:
            if name != value:
                others.setdefault(name, []).append(one.id)
    groups = [NeighbouringGroup(name, sorted(some)[:3], len(some)) for name, some in others.items()]
    return sorted(groups, key=lambda group: (group.value == _OTHER, -group.count, group.value))


def _values(tags: Iterable[str], key: str) -> list[str]:
    pairs = (tag.partition(":") for tag in tags)
    return [name for each, _, name in pairs if each.casefold() == key.casefold() and name]
