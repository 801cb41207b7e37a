"""Column evidence by set: which sets jobs report for their targets, each ready to be walked by field without looking at its other edges."""

import uuid
from collections.abc import Collection, Iterable

import msgspec

from headwater.model.lineage import ColumnEdge, Transformation
from headwater.store import sqlfile
from headwater.store.database import Connection
from headwater.store.lineage import column_sets, names
from headwater.store.lineage.edges import Moment, reads_behind


class FieldSet(msgspec.Struct, frozen=True):
    """One set of edges. An empty field is the whole dataset.

    `sources`: reported ids; `Evidence.canonical` has the ids that stand for them. `feeds`: target field → (place in `sources`, source field, how).
    `fed`: for each of `sources`: source field → target fields.
    """

    sources: tuple[uuid.UUID, ...]
    feeds: dict[str, tuple[tuple[int, str, Transformation | None], ...]]
    fed: tuple[dict[str, list[str]], ...]


class Evidence(msgspec.Struct, frozen=True):
    """The sets of each target, and the canonical ids of reported ids that have another."""

    sets: dict[uuid.UUID, list[FieldSet]]
    canonical: dict[uuid.UUID, uuid.UUID]

    def sources(self, targets: Collection[uuid.UUID] | None = None) -> set[uuid.UUID]:
        """Return the datasets that feed these targets (or any), canonical."""
        told = {
            source
            for target in (self.sets if targets is None else targets)
            for one in self.sets.get(target, ())
            for source in one.sources
        }
        return {self.canonical.get(id_, id_) for id_ in told} if self.canonical else told


# A set is content, so what was made once is kept; in sets.
_REMEMBERED = 20_000
_made: dict[uuid.UUID, FieldSet] = {}


async def load(connection: Connection, pairs: Collection[tuple[uuid.UUID, uuid.UUID]], moment: Moment) -> Evidence:
    """Load the column evidence of these (job, target) at a moment: of highest precedence for each report. In four statements."""
    if not pairs:
        return Evidence({}, {})
    others = await names.members(connection, {target for _, target in pairs})
    asked = [(job, id_) for job, target in pairs for id_ in (target, *others.get(target, ()))] if others else pairs
    given: dict[str, object] = {"jobs": [job for job, _ in asked], "targets": [target for _, target in asked]}
    if moment.past:
        given |= {"as_of": moment.as_of}
    rows = await sqlfile.load("lineage/edges")["past_column_sets" if moment.past else "live_column_sets"].many(
        connection, **given
    )
    made = await _field_sets(connection, {row[2] for row in rows})
    canonical = await names.canonical(
        connection, {row[1] for row in rows} | {source for one in made.values() for source in one.sources}
    )
    reads = await reads_behind(connection, rows, {}, moment)
    found: dict[uuid.UUID, dict[uuid.UUID, FieldSet]] = {}
    for job, target, set_id, _origin, is_fresh in rows:
        # A dataset that declares lineage from itself: no job is there to read it.
        one = _without(made[set_id], target) if job == target else made[set_id]
        if not is_fresh:
            for source in one.sources:
                if (job, canonical.get(source, source)) not in reads:
                    one = _without(one, source)
        found.setdefault(canonical.get(target) or target, {})[set_id] = one
    return Evidence({target: list(sets.values()) for target, sets in found.items()}, canonical)


async def _field_sets(connection: Connection, ids: set[uuid.UUID]) -> dict[uuid.UUID, FieldSet]:
    found = {id_: _made[id_] for id_ in ids if id_ in _made}
    if missing := ids - found.keys():
        if len(_made) + len(missing) > _REMEMBERED:
            _made.clear()
        for id_, edges in (await column_sets.load(connection, missing)).items():
            _made[id_] = found[id_] = _field_set(edges)
    return found


def _without(one: FieldSet, source: uuid.UUID) -> FieldSet:
    """Return the set without what this dataset feeds."""
    if source not in one.sources:
        return one
    place = one.sources.index(source)
    feeds = {field: tuple(each for each in told if each[0] != place) for field, told in one.feeds.items()}
    return FieldSet(one.sources, feeds, (*one.fed[:place], {}, *one.fed[place + 1 :]))


def add_edges(evidence: Evidence, edges: Iterable[ColumnEdge]) -> None:
    """Add edges that no set holds, such as those read out of SQL: one set for each job and target."""
    grouped: dict[tuple[uuid.UUID, uuid.UUID], list[column_sets.SetEdge]] = {}
    for edge in edges:
        one = column_sets.SetEdge(edge.target_field, edge.source, edge.source_field, edge.transformation)
        grouped.setdefault((edge.job, edge.target), []).append(one)
    for (_, target), some in sorted(grouped.items()):
        evidence.sets.setdefault(target, []).append(_field_set(some))


def _field_set(edges: Collection[column_sets.SetEdge]) -> FieldSet:
    places: dict[uuid.UUID, int] = {}
    feeds: dict[str, list[tuple[int, str, Transformation | None]]] = {}
    fed: list[dict[str, list[str]]] = []
    for edge in edges:
        place = places.setdefault(edge.source, len(places))
        if place == len(fed):
            fed.append({})
        feeds.setdefault(edge.target_field, []).append((place, edge.source_field, edge.transformation))
        fed[place].setdefault(edge.source_field, []).append(edge.target_field)
    return FieldSet(tuple(places), {field: tuple(told) for field, told in feeds.items()}, tuple(fed))
