"""Incidents (verdicts of wrong), and what of each is still wrong."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec

from headwater.answer.status.declared import declared
from headwater.answer.status.known_wrong import load_wrong_versions
from headwater.answer.status.wrong_by_reads import WrongByReads
from headwater.answer.status.wrong_instances import load_wrong_instances
from headwater.answer.status.wrong_versions import of_incident
from headwater.entities.declaration.stored_declarations import StoredDeclarations
from headwater.entities.status.marks import Kind, by_entity
from headwater.entities.time import ranges
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidQuestion, NotFound
from headwater.store.database import Connection, Database
from headwater.store.status import incidents as store
from headwater.store.status import status as status_store
from headwater.store.status import wrong_versions as origin_store
from headwater.store.status.wrong_versions import Origin

STATES = get_args(store.State)
_KINDS: tuple[Kind, ...] = ("tainted", "inherited", "repaired", "wont_fix")


class IncidentView(msgspec.Struct, frozen=True):
    """`state`: open, fixed (what was produced from `fixed_at` on is right) or retracted. `wrong`: instances that are wrong because of it now;
    `versions`: versions that are, by recorded reads, and that their datasets still hold. `mended`: there are neither.
    """

    id: uuid.UUID
    state: str
    reason: str
    opened_at: dt.datetime
    opened_by: str
    fixed_at: dt.datetime | None
    closed_at: dt.datetime | None
    closed_by: str | None
    note: str
    wrong: int
    entities: int
    versions: int
    mended: bool


class IncidentList(msgspec.Struct, frozen=True):
    total: int
    incidents: list[IncidentView]


class OfEntity(msgspec.Struct, frozen=True):
    """The instances of one entity in an incident: wrong itself, wrong by what it used, replaced by another version,
    left as it is.

    `repaired`: a wrong version of these was replaced, before or after the incident was opened.
    `columns`: those that may be wrong, in lower case; null if it may be all of them. `owners`: of the entity.
    """

    entity: str
    tainted: list[str]
    inherited: list[str]
    repaired: list[str]
    wont_fix: list[str]
    columns: list[str] | None = None
    owners: list[str] = []


class Unaffected(msgspec.Struct, frozen=True):
    """`entity` uses `upstream`, but nothing that is wrong of it."""

    entity: str
    upstream: str


class OriginView(msgspec.Struct, frozen=True):
    """`kind`: RUN, VERSION or CONTENT; `ref`: its id, or fingerprint. `columns`: only these are wrong; empty: all."""

    kind: str
    ref: str
    columns: list[str]


class OneIncident(msgspec.Struct, frozen=True):
    """`roots`: the instances it was opened about, in any state since; `origins`: runs, versions and contents. `unaffected`: for an incident about
    columns, the users of none of them. `reads`: what is wrong by recorded reads; null without origins.
    """

    incident: IncidentView
    roots: dict[str, list[str]]
    origins: list[OriginView]
    entities: list[OfEntity]
    unaffected: list[Unaffected]
    reads: WrongByReads | None


async def incidents(database: Database, *, state: str | None = None, limit: int = 100, offset: int = 0) -> IncidentList:
    """Return the incidents, the latest first; in one state, or all. InvalidQuestion for a state that no incident has."""
    if state is not None and state not in STATES:
        raise InvalidQuestion(f"state {state[:40]!r} is not one of {', '.join(STATES)}", parameter="state")
    async with database.snapshot() as connection:
        found, total = await store.page(connection, state, limit, offset)
        origins = await origin_store.origins(connection, [one.id for one in found])
        shown = []
        for one in found:
            rows = await status_store.marks_by_ref(connection, _KINDS, str(one.id))
            shown.append(_incident_view(one, rows, await _reads(connection, one, origins.get(one.id, []), rows)))
    return IncidentList(total, shown)


async def incident(database: Database, id_: uuid.UUID) -> OneIncident:
    """Return one incident, entity by entity, upstream first. NotFound."""
    async with database.snapshot() as connection:
        found = (await store.named(connection, [id_])).get(id_)
        if found is None:
            raise NotFound(
                f"there is no incident {id_}; list the incidents with `headwater incident list`", incident=str(id_)
            )
        return await _describe_incident(connection, await declared(connection), found)


async def unmended(database: Database, most: int) -> tuple[list[OneIncident], int]:
    """Return those of the latest `most` incidents that are neither retracted nor mended, the latest first, and how many are earlier than these."""
    async with database.snapshot() as connection:
        held, (found, total) = await declared(connection), await store.page(connection, None, most, 0)
        shown = [await _describe_incident(connection, held, one) for one in found if one.state != "retracted"]
    return [one for one in shown if not one.incident.mended], total - len(found)


async def _describe_incident(connection: Connection, held: StoredDeclarations, found: store.Incident) -> OneIncident:
    id_ = found.id
    rows = await status_store.marks_by_ref(connection, _KINDS, str(id_))
    columns = {one.entity_id: one.columns for one in await store.columns(connection, id_)}
    pairs = [(held.names.get(down), held.names.get(up)) for _, up, down in await store.spared(connection, [id_])]
    roots: dict[str, Ordinals] = {}
    for root in await store.roots(connection, [id_]):
        name = held.names.get(root.entity_id)
        if name is not None:
            roots[name] = roots.get(name, NONE) | Ordinals.between(root.start_, root.end_)
    origins = (await origin_store.origins(connection, [id_])).get(id_, [])
    reads = await _reads(connection, found, origins, rows, held.names)
    marks = by_entity(rows)
    order = [name for component in held.graph.order for name in component if held.ids[name] in marks]
    return OneIncident(
        _incident_view(found, rows, reads),
        {name: ranges.written(held.instances(name), some) for name, some in roots.items()},
        [OriginView(one.kind, one.ref, list(one.columns)) for one in origins],
        [
            msgspec.structs.replace(
                _of(held, name, {kind: marks[held.ids[name]].of(kind) for kind in _KINDS}),
                columns=columns.get(held.ids[name]),
            )
            for name in order
        ],
        [Unaffected(name, upstream) for name, upstream in sorted((a, b) for a, b in pairs if a and b)],
        reads,
    )


async def _reads(
    connection: Connection,
    one: store.Incident,
    origins: Sequence[Origin],
    rows: Sequence[status_store.Run],
    entities: Mapping[int, str] | None = None,
) -> WrongByReads | None:
    if one.state == "retracted" or not (origins or (rows and await origin_store.has_versions(connection))):
        return None
    elsewhere = load_wrong_versions if entities is not None else None
    instances = await load_wrong_instances(connection, one, rows)
    return await of_incident(connection, origins, instances, entities, fixed_at=one.fixed_at, elsewhere=elsewhere)


def _of(held: StoredDeclarations, name: str, some: dict[Kind, Ordinals]) -> OfEntity:
    tainted, inherited, repaired, left = (ranges.written(held.instances(name), some[kind]) for kind in _KINDS)
    return OfEntity(name, tainted, inherited, repaired, left, owners=list(held.declared[name].owners))


def _incident_view(one: store.Incident, rows: list[status_store.Run], reads: WrongByReads | None) -> IncidentView:
    wrong = [row for row in rows if row.kind in {"tainted", "inherited"}]
    return IncidentView(
        one.id,
        one.state,
        one.reason,
        one.opened_at,
        one.opened_by,
        one.fixed_at,
        one.closed_at,
        one.closed_by,
        one.note,
        sum(row.end_ - row.start_ for row in wrong),
        len({row.entity_id for row in wrong}),
        reads.current if reads is not None else 0,
        not wrong and (reads is None or not reads.current),
    )
