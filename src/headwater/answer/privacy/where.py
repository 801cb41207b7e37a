"""The places of private values: every column that carries a tag, the way to it, and who reads it."""

import datetime as dt
import uuid
from collections.abc import Mapping

import msgspec

from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.privacy.carried import ROWS, Carried, Column, carry
from headwater.answer.whatif.affected import dashboards_of, people_of
from headwater.answer.whatif.spread import jobs_that_use
from headwater.errors import InvalidQuestion
from headwater.model.names import short
from headwater.store.database import Connection, Database
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow
from headwater.store.usage import askers as asker_store

MOST_DATASETS = 5_000


class CarryingColumn(msgspec.Struct, frozen=True):
    """A column that carries the tag. `column` is null where any column of the dataset may. `handling`: plain, aggregated or masked, on the way that
    hides the value least; `certain`: every step of that way is known by column. `now`: the same by what jobs do now; null where only jobs of
    the past brought the value, which may be there still. `path`: from the tagged column to it, datasets with columns and jobs in turn.
    """

    dataset: str
    column: str | None
    tagged: bool
    handling: str
    now: str | None
    certain: bool
    hops: int
    path: list[str]


class Holder(msgspec.Struct, frozen=True):
    """A dataset with such columns, and the people to ask about it."""

    dataset: str
    columns: int
    owners: list[str]
    teams: list[str]


class ReadingJob(msgspec.Struct, frozen=True):
    """A job that reads such columns. `certain`: false where its SQL could not be read whole, or it reports no columns."""

    id: str
    label: str
    columns: list[str]
    certain: bool
    executions: int | None
    last_at: dt.datetime | None


class Reader(msgspec.Struct, frozen=True):
    """An actor of the query log whose statements read such columns. `kind`: person, service, bi, pipeline, unknown."""

    actor: str
    kind: str
    executions: int
    last_at: dt.datetime | None
    jobs: list[str]


class ReadingDashboard(msgspec.Struct, frozen=True):
    """A dashboard, a question or another part of a tool that shows such columns, and the job that reads them for it."""

    id: str
    name: str | None
    columns: list[str]
    job: str


class PrivacyWhere(msgspec.Struct, kw_only=True):
    """The answer. `hidden`: datasets past the limit of 5,000, whose readers were not looked at."""

    tag: str
    columns: list[CarryingColumn]
    datasets: list[Holder]
    jobs: list[ReadingJob]
    dashboards: list[ReadingDashboard]
    readers: list[Reader]
    hidden: int


async def where(database: Database, tag: str) -> PrivacyWhere:
    """List every column that carries the tag, now or by what jobs once wrote. InvalidQuestion for an empty tag."""
    if not tag.strip():
        raise InvalidQuestion("name a tag, such as pii or class:personal", parameter="tag")
    async with database.snapshot() as connection:
        ever = await carry(connection, tag.strip(), Moment(), MOST_DATASETS, ever=True)
        now = await carry(connection, tag.strip(), Moment(), MOST_DATASETS)
        names = await load_names(connection, ever)
        contacts = await contacts_of(connection, ever.datasets)
        columns = carrying_columns(ever, now, names)
        counts: dict[str, int] = {}
        for one in columns:
            counts[one.dataset] = counts.get(one.dataset, 0) + 1
        holders = []
        for id_ in ever.datasets & names.keys():
            dataset, contact = names[id_].node_id, contacts.get(id_)
            teams = contact.teams if contact else []
            holders.append(Holder(dataset, counts[dataset], contact.owners if contact else [], teams))
        found = PrivacyWhere(
            tag=tag.strip(),
            columns=columns,
            datasets=sorted(holders, key=lambda one: one.dataset),
            jobs=[],
            dashboards=[],
            readers=[],
            hidden=ever.hidden,
        )
        await _add_reads(connection, ever, found)
        return found


async def load_names(connection: Connection, carried: Carried) -> dict[uuid.UUID, NodeRow]:
    """Return the names of the datasets and of the jobs on the way to them."""
    jobs = {one.job for one in carried.columns.values() if one.job is not None}
    return await node_store.by_ids(connection, carried.datasets | jobs)


def carrying_columns(ever: Carried, now: Carried, names: Mapping[uuid.UUID, NodeRow]) -> list[CarryingColumn]:
    """Put the columns into words: by dataset and column."""
    found = []
    for place, one in ever.columns.items():
        if place[0] in names:
            current = now.columns.get(place)
            path = _path(ever, place, names)
            found.append(
                CarryingColumn(
                    names[place[0]].node_id, one.name or None, one.because is None, one.handling, current.handling if current else None,
                    one.certain, one.hop, path,
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: (one.dataset, one.column or ""))


def _path(carried: Carried, end: Column, names: Mapping[uuid.UUID, NodeRow]) -> list[str]:
    """Return the way from a tagged column: datasets with columns, and jobs between them."""
    path: list[str] = []
    seen: set[Column] = set()
    at: Column | None = end
    while at is not None and at not in seen:
        seen.add(at)
        one = carried.columns[at]
        dataset = names[at[0]].node_id if at[0] in names else str(at[0])
        path.append(f"{dataset}#{one.name}" if one.name else dataset)
        if one.job is not None and one.job in names:
            path.append(names[one.job].node_id)
        at = one.because
    return path[::-1]


async def _add_reads(connection: Connection, carried: Carried, found: PrivacyWhere) -> None:
    """Add the jobs, dashboards and actors that read these columns now."""
    by_dataset: dict[uuid.UUID, set[str]] = {}
    for (dataset, _), one in carried.columns.items():
        by_dataset.setdefault(dataset, set()).add(one.name or ROWS)
    using = await jobs_that_use(connection, by_dataset)
    names = await node_store.by_ids(connection, using.jobs.keys())
    asked = await asker_store.askers(connection, using.jobs)
    ran = await asker_store.last_runs(connection, using.jobs)
    for id_, verdict in using.jobs.items():
        if id_ in names:
            told = asked.get(id_)
            found.jobs.append(
                ReadingJob(
                    names[id_].node_id, short(names[id_].name), list(verdict.columns), verdict.certain,
                    told.executions if told else None, (told.last_at if told else None) or ran.get(id_),
                )
            )  # fmt: skip
    found.jobs.sort(key=lambda one: one.id)
    for actor in people_of(using, names, asked):
        found.readers.append(Reader(actor.actor, actor.kind, actor.executions, actor.last_at, actor.jobs))
    for shown in await dashboards_of(connection, using, names, asked, ran):
        found.dashboards.append(ReadingDashboard(shown.id, shown.name, shown.columns, shown.job))
