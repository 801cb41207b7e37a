"""The reach of a change, in words: columns with their way, jobs with who asked for them, dashboards, entities, and the people to warn."""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.status.schedules import of_datasets
from headwater.answer.whatif.spread import ROWS, Column, Spread
from headwater.answer.whatif.verdicts import CHANGES, NOTHING, ORDER, Verdict
from headwater.model.dataset_kind import is_of_bi_tool, kind_of
from headwater.model.names import short
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.lineage.nodes import NodeRow
from headwater.store.usage import askers as asker_store
from headwater.store.usage.askers import Askers

PERSON: Final = "person"
_MOST_REASONS: Final = 5


class HitColumn(msgspec.Struct, frozen=True):
    """A column downstream. `column` is null for all rows of the dataset. `kind`: direct, indirect (only a filter, a join, an order) or unknown;
    `masked`: on its way. `path`: datasets with columns from the changed one to it, jobs between.
    """

    dataset: str
    column: str | None
    kind: str
    masked: bool
    severity: str
    hops: int
    path: list[str]


class HitJob(msgspec.Struct, frozen=True):
    """A job that notices. `columns`: of the changed table that it uses (`*`: all). `certain`: false where its SQL could not be read whole, or it
    reports no columns. `executions`, `last_at`: by the query log, else the latest run. `view`: the dataset that it defines.
    """

    id: str
    label: str
    severity: str
    reason: str
    certain: bool
    statement: str | None
    columns: list[str]
    view: str | None
    executions: int | None
    last_at: dt.datetime | None


class Dashboard(msgspec.Struct, frozen=True):
    """A dashboard, a question or another part of a tool, and the changed columns that its job uses."""

    id: str
    name: str | None
    severity: str
    columns: list[str]
    job: str
    last_at: dt.datetime | None


class HitEntity(msgspec.Struct, frozen=True):
    """An entity that is stored in a dataset that the change reaches."""

    entity: str
    dataset: str
    severity: str


class Person(msgspec.Struct, frozen=True):
    """An actor of the query log whose statements notice: how often these ran, and when last. `kind`: person, service, bi, pipeline, unknown."""

    actor: str
    kind: str
    severity: str
    executions: int
    last_at: dt.datetime | None
    jobs: list[str]


class Warned(msgspec.Struct, frozen=True):
    """A person or team to warn. `role`: owner, team or user; `because`: datasets and jobs, five at most, and `more`."""

    who: str
    role: str
    severity: str
    because: list[str]
    more: int


class Described(msgspec.Struct, frozen=True):
    columns: list[HitColumn]
    jobs: list[HitJob]
    views: list[str]
    dashboards: list[Dashboard]
    entities: list[HitEntity]
    people: list[Person]
    pipelines: list[Person]
    warn: list[Warned]


async def describe(connection: Connection, spread: Spread) -> Described:
    """Put the spread into words; the worst first. A fixed number of statements."""
    datasets = {dataset for dataset, _ in spread.columns} | spread.gone.keys()
    names = await node_store.by_ids(connection, datasets | spread.jobs.keys())
    asked = await asker_store.askers(connection, spread.jobs)
    ran = await asker_store.last_runs(connection, spread.jobs)
    contacts = await contacts_of(connection, datasets | spread.jobs.keys())
    worst = _worst_by_dataset(spread)
    scheduled = await of_datasets(connection, datasets)
    people = people_of(spread, names, asked)
    entities = [
        HitEntity(one.entity, names[id_].node_id, worst.get(id_, CHANGES))
        for id_, those in scheduled.items()
        if id_ in names
        for one in those
    ]
    warned: dict[tuple[str, str], dict[str, str]] = {}
    for id_, contact in contacts.items():
        severity = spread.jobs[id_].severity if id_ in spread.jobs else worst.get(id_, NOTHING)
        for who, role in (*((owner, "owner") for owner in contact.owners), *((team, "team") for team in contact.teams)):
            if severity and id_ in names:
                warned.setdefault((who, role), {})[names[id_].node_id] = severity
    for person in people:
        if person.kind == PERSON:
            warned.setdefault((person.actor, "user"), {}).update(dict.fromkeys(person.jobs, person.severity))
    return Described(
        columns=sorted(_columns(spread, names), key=lambda one: (_rank(one.severity), one.hops, one.dataset, one.column or "")),
        jobs=sorted(jobs_of(spread, names, asked, ran), key=lambda one: (_rank(one.severity), one.id)),
        views=sorted(names[id_].node_id for id_ in spread.gone if id_ in names),
        dashboards=await dashboards_of(connection, spread, names, asked, ran),
        entities=sorted(entities, key=lambda one: (_rank(one.severity), one.entity)),
        people=[one for one in people if one.kind == PERSON],
        pipelines=[one for one in people if one.kind != PERSON],
        warn=[
            Warned(who, role, min(because.values(), key=_rank), sorted(because)[:_MOST_REASONS], max(0, len(because) - _MOST_REASONS))
            for (who, role), because in sorted(warned.items(), key=lambda item: (min(map(_rank, item[1].values())), item[0]))
        ],
    )  # fmt: skip


def _rank(severity: str) -> int:
    return -ORDER.index(severity)


def _worst_by_dataset(spread: Spread) -> dict[uuid.UUID, str]:
    found: dict[uuid.UUID, str] = {}
    for (dataset, _), reached in spread.columns.items():
        if ORDER.index(reached.severity) > ORDER.index(found.get(dataset, NOTHING)):
            found[dataset] = reached.severity
    return found


def _columns(spread: Spread, names: Mapping[uuid.UUID, NodeRow]) -> Iterable[HitColumn]:
    ways: dict[Column, _Way] = {}
    for (dataset, column), reached in spread.columns.items():
        if reached.because is not None and dataset in names:
            way = _way(spread, (dataset, column), names, ways)
            kind = "unknown" if "unknown" in way.kinds else "indirect" if "indirect" in way.kinds else "direct"
            yield HitColumn(
                names[dataset].node_id, column or None, kind, way.masked, reached.severity, reached.hop, way.path
            )


class _Way(msgspec.Struct, frozen=True):
    """The way from the changed column: its nodes, the kinds of its steps, and whether one masks the value."""

    path: list[str]
    kinds: frozenset[str]
    masked: bool


def _way(spread: Spread, end: Column, names: Mapping[uuid.UUID, NodeRow], ways: dict[Column, _Way]) -> _Way:
    """Return the way to a column; of those before it, `ways` knows some, and learns the others."""
    steps = [end]
    while (at := spread.columns.get(steps[-1])) is not None and at.because is not None and steps[-1] not in ways:
        if at.because in steps:
            break
        steps.append(at.because)
    before = ways.get(steps[-1]) or _Way([_label(steps[-1], names)], frozenset(), False)
    for column in reversed(steps[:-1]):
        reached = spread.columns[column]
        job = [names[reached.job].node_id] if reached.job is not None and reached.job in names else []
        path = [*before.path, *job, _label(column, names)]
        before = ways[column] = _Way(path, before.kinds | {reached.kind}, before.masked or reached.masked)
    return before


def _label(column: Column, names: Mapping[uuid.UUID, NodeRow]) -> str:
    name = names[column[0]].node_id if column[0] in names else str(column[0])
    return name if column[1] == ROWS else f"{name}#{column[1]}"


def _last(
    job: uuid.UUID, asked: Mapping[uuid.UUID, Askers], ran: Mapping[uuid.UUID, dt.datetime]
) -> dt.datetime | None:
    told = asked[job].last_at if job in asked else None
    return told or ran.get(job)


def jobs_of(
    spread: Spread,
    names: Mapping[uuid.UUID, NodeRow],
    asked: Mapping[uuid.UUID, Askers],
    ran: Mapping[uuid.UUID, dt.datetime],
) -> Iterable[HitJob]:
    views = {job: dataset for dataset, job in spread.gone.items()}
    for id_, verdict in spread.jobs.items():
        if id_ in names:
            view = names[views[id_]].node_id if id_ in views and views[id_] in names else None
            yield HitJob(
                names[id_].node_id, short(names[id_].name), verdict.severity, verdict.reason, verdict.certain, verdict.kind or None,
                list(verdict.columns), view, asked[id_].executions if id_ in asked else None, _last(id_, asked, ran),
            )  # fmt: skip


def people_of(spread: Spread, names: Mapping[uuid.UUID, NodeRow], asked: Mapping[uuid.UUID, Askers]) -> list[Person]:
    found: dict[tuple[str, str], Person] = {}
    for id_, told in asked.items():
        if id_ not in names:
            continue
        for actor in told.actors:
            old = found.get((actor.actor, actor.kind)) or Person(actor.actor, actor.kind, NOTHING, 0, None, [])
            found[actor.actor, actor.kind] = Person(
                actor.actor, actor.kind, max(old.severity, spread.jobs[id_].severity, key=ORDER.index), old.executions + actor.executions,
                max((at for at in (old.last_at, told.last_at) if at is not None), default=None), [*old.jobs, names[id_].node_id],
            )  # fmt: skip
    return sorted(found.values(), key=lambda one: (_rank(one.severity), -one.executions, one.actor))


async def dashboards_of(
    connection: Connection,
    spread: Spread,
    names: Mapping[uuid.UUID, NodeRow],
    asked: Mapping[uuid.UUID, Askers],
    ran: Mapping[uuid.UUID, dt.datetime],
) -> list[Dashboard]:
    """Parts of BI tools: datasets of such a type that an affected job makes, and the tools that asked for its statements."""
    found: dict[str, Dashboard] = {}

    def add(id_: str, name: str | None, job: uuid.UUID, verdict: Verdict) -> None:
        old = found.get(id_)
        if old is None or ORDER.index(verdict.severity) > ORDER.index(old.severity):
            found[id_] = Dashboard(
                id_, name, verdict.severity, list(verdict.columns), names[job].node_id, _last(job, asked, ran)
            )

    others = await edge_store.at_jobs(connection, spread.jobs.keys() - spread.writes.keys(), "out", Moment())
    made = [(job, target) for job in spread.jobs for target in spread.writes.get(job, ())]
    made += [(edge.job, edge.dataset) for edge in others]
    targets = {target for _, target in made}
    told = await facet_store.of_owners(connection, targets, ("datasetType", "documentation"))
    parts = {target for target in targets if is_of_bi_tool(kind_of(told.get(target, {}).get("datasetType")))}
    rows = await node_store.by_ids(connection, parts) if parts else {}
    for job, target in made:
        if target in parts and job in names:
            description = _field(told[target].get("documentation"), "description")
            add(rows[target].node_id, description, job, spread.jobs[job])
    for job, one in asked.items():
        for tool in one.tools:
            if tool.asset and job in names:
                add(f"dataset:{tool.tool}:{tool.asset}", tool.name, job, spread.jobs[job])
    return sorted(found.values(), key=lambda one: (_rank(one.severity), one.id))


def _field(body: bytes | None, name: str) -> Any:
    told = msgspec.json.decode(body) if body is not None else {}
    return told.get(name) if isinstance(told, dict) else None
