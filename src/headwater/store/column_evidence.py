"""Column evidence by set: which sets jobs tell of their targets, each ready to be walked by field without looking at its other edges."""

import uuid
from collections.abc import Collection

import msgspec

from headwater.model.lineage import Transformation
from headwater.store import column_sets, names, sqlfile
from headwater.store.database import Connection
from headwater.store.edges import Moment

Feed = tuple[uuid.UUID, str, Transformation | None]


class FieldSet(msgspec.Struct, frozen=True):
    """One set of edges. An empty field is the whole dataset. Sources are as told: `Evidence.canonical` says what they stand for."""

    feeds: dict[str, tuple[Feed, ...]]
    fed: dict[uuid.UUID, dict[str, tuple[str, ...]]]


class Evidence(msgspec.Struct, frozen=True):
    """target → its sets; and what told ids stand for, where that is another."""

    sets: dict[uuid.UUID, list[FieldSet]]
    canonical: dict[uuid.UUID, uuid.UUID]

    def sources(self, targets: Collection[uuid.UUID] | None = None) -> set[uuid.UUID]:
        """Everything that feeds these targets (or any), canonical."""
        told = {
            source
            for target in (self.sets if targets is None else targets)
            for one in self.sets.get(target, ())
            for source in one.fed
        }
        return {self.canonical.get(id_, id_) for id_ in told}


# A set is content, so what was made once is kept; in sets.
_REMEMBERED = 20_000
_made: dict[uuid.UUID, FieldSet] = {}


async def load(connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment) -> Evidence:
    """What these (job, target) tell at a moment: for each report the evidence of highest precedence. In four statements."""
    if not pairs:
        return Evidence({}, {})
    others = await names.members(connection, {target for _, target in pairs})
    asked = [(job, id_) for job, target in pairs for id_ in (target, *others.get(target, ()))]
    given: dict[str, object] = {"jobs": [job for job, _ in asked], "targets": [target for _, target in asked]}
    if moment.past:
        given |= {"as_of": moment.as_of, "live_runs": moment.live_runs}
    rows = await sqlfile.load("edges")["past_column_sets" if moment.past else "live_column_sets"].many(
        connection, **given
    )
    made = await _field_sets(connection, {row[2] for row in rows})
    canonical = await names.canonical(
        connection, {row[1] for row in rows} | {source for one in made.values() for source in one.fed}
    )
    found: dict[uuid.UUID, dict[uuid.UUID, FieldSet]] = {}
    for _job, target, set_id, _origin in rows:
        found.setdefault(canonical.get(target) or target, {})[set_id] = made[set_id]
    return Evidence({target: list(sets.values()) for target, sets in found.items()}, canonical)


async def _field_sets(connection: Connection, ids: set[uuid.UUID]) -> dict[uuid.UUID, FieldSet]:
    found = {id_: _made[id_] for id_ in ids if id_ in _made}
    if missing := ids - found.keys():
        if len(_made) + len(missing) > _REMEMBERED:
            _made.clear()
        for id_, edges in (await column_sets.load(connection, missing)).items():
            feeds: dict[str, list[Feed]] = {}
            fed: dict[uuid.UUID, dict[str, list[str]]] = {}
            for edge in edges:
                feeds.setdefault(edge.target_field, []).append((edge.source, edge.source_field, edge.transformation))
                fed.setdefault(edge.source, {}).setdefault(edge.source_field, []).append(edge.target_field)
            _made[id_] = found[id_] = FieldSet(
                {field: tuple(told) for field, told in feeds.items()},
                {source: {field: tuple(t) for field, t in told.items()} for source, told in fed.items()},
            )
    return found
