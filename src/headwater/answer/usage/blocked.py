"""Uses of datasets that the query log does not show, which keep a dataset from being removed.

The query log judges reads by statements. The server also knows jobs of other producers, edges that people drew, declared entities, SLAs, rules and
subscriptions that name it, the tag `keep` of a dataset, and foreign keys that lead to it from a table that stays (their checks read it, and no log
shows that). Each of them blocks the advice, and so does feeding a dataset that is blocked.
"""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.traits import load_traits
from headwater.answer.people.people import Words
from headwater.answer.status.schedules import of_datasets
from headwater.entities.alerts.rules import decode_rules
from headwater.entities.alerts.selectors import selects
from headwater.graph.loops import components
from headwater.model import dependents, references
from headwater.model.names import short
from headwater.store.alerts import applied_rules as rule_store
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.people import annotations as annotation_store
from headwater.store.usage import pruning as store
from headwater.store.usage.pruning import Named

KEEP: Final = "keep"
"""The tag by which an owner says that a dataset stays."""
_MOST_USES = 10
_Body = TypeVar("_Body")


class Use(msgspec.Struct, frozen=True):
    """A use of a dataset. `kind`: `job` (another producer's, also a dashboard's or an exposure's), `person` (who drew an edge), `entity`, `sla`
    (that covers it), `rule` (of alerts, that names it), `mark` (the tag `keep`), `key` (a table that stays, whose foreign key leads to it),
    `feeds` (a dataset that is blocked), or the kind of another object of its database that needs it (`view`, `policy`, `function`, `publication`).
    `by`: a node id, the entity, the SLA, the rule, the tag or the object. `last_used_at`: null if no time is known.
    """

    kind: str
    by: str
    last_used_at: dt.datetime | None


class Blocked(msgspec.Struct, frozen=True):
    """A dataset that the query log alone would advise to remove, and its uses, the last first; `more_uses` are not listed."""

    id: str
    namespace: str
    name: str
    label: str
    uses: list[Use]
    more_uses: int


class Uses(NamedTuple):
    """By id: `blocked`, datasets that are used although the query log shows no need of them; `waves` of those that go later than the log has it."""

    blocked: dict[uuid.UUID, Blocked]
    waves: dict[uuid.UUID, int]


async def find_uses(connection: Connection) -> Uses:
    """Return the uses that the query log does not show. A fixed number of statements."""
    candidates = {one.id: one for one in await store.candidates(connection)}
    uses: dict[uuid.UUID, list[Use]] = {}
    for reading in await store.readers(connection, candidates):
        by = f"job:{reading.namespace}:{reading.name}" if reading.name is not None else str(reading.job)
        uses.setdefault(reading.dataset, []).append(Use("person" if reading.drawn else "job", by, reading.last_at))
    await _add_marks(connection, candidates, uses)
    await _add_entities(connection, candidates, uses)
    await _add_promises(connection, candidates, uses)
    pairs = await _add_dependents(connection, candidates, uses)
    feeding = await store.feeding(connection, candidates)
    _add_feeding(pairs + feeding, candidates, uses)
    blocked = {id_: _blocked(candidates[id_], found) for id_, found in uses.items()}
    first = {id_: one.wave for id_, one in candidates.items() if id_ not in uses}
    return Uses(blocked, _raised(first, pairs, feeding))


def _raised(
    first: Mapping[uuid.UUID, int],
    pairs: Sequence[tuple[uuid.UUID, uuid.UUID]],
    feeding: Sequence[tuple[uuid.UUID, uuid.UUID]],
) -> dict[uuid.UUID, int]:
    """Return the datasets that go in a later wave than the log alone would have it, since the database refuses to drop them before others.

    `pairs`: a dataset, and one that refers to it and goes before; those of a loop go in one wave, by one DROP TABLE of all. `feeding`: a dataset that
    goes after those that it feeds stays after them.
    """
    held: dict[uuid.UUID, set[uuid.UUID]] = {one: set() for one in first}
    own = [(parent, child) for parent, child in pairs if parent in first and child in first]
    if not own:
        return {}
    later = [(one, other) for one, other in feeding if one in first and other in first and first[one] > first[other]]
    for one, other in (*own, *later):
        held[one].add(other)
    wave: dict[uuid.UUID, int] = {}
    for group in components(held):
        before = [wave[other] + 1 for one in group for other in held[one] if other in wave]
        number = max(*before, *(first[one] for one in group), 1)
        wave.update((one, number) for one in group)
    return {one: number for one, number in wave.items() if number != first[one]}


async def _add_marks(
    connection: Connection, candidates: Mapping[uuid.UUID, Named], uses: dict[uuid.UUID, list[Use]]
) -> None:
    facets = await facet_store.of_owners(connection, candidates, ["tags"])
    said = await annotation_store.of_owners(connection, candidates)
    for id_ in facets.keys() | said.keys():
        for tag in node.tags_with(Words(said.get(id_, ())), facets.get(id_, {}).get("tags")):
            if tag.name.casefold() == KEEP:
                uses.setdefault(id_, []).append(Use("mark", tag.name, tag.at))


async def _add_entities(
    connection: Connection, candidates: Mapping[uuid.UUID, Named], uses: dict[uuid.UUID, list[Use]]
) -> None:
    scheduled = await of_datasets(connection, candidates)
    reported = await store.last_reports(connection, {one.entity for those in scheduled.values() for one in those})
    for id_, those in scheduled.items():
        if id_ in candidates:
            uses.setdefault(id_, []).extend(Use("entity", one.entity, reported.get(one.entity)) for one in those)


async def _add_promises(
    connection: Connection, candidates: Mapping[uuid.UUID, Named], uses: dict[uuid.UUID, list[Use]]
) -> None:
    """Add SLAs that cover a dataset, and rules that name it. A rule about all of a tag or a namespace needs none of them."""
    latest = await rule_store.versions(connection, "rules", 1)
    if not latest or not candidates:
        return
    held = decode_rules(latest[0].files)
    promises = [("sla", one.name, one.of, one.but) for one in held.slas]
    for rule in (*held.rules, *held.unread):
        named = tuple(one for one in rule.of if one.kind in {"name", "dataset"} and "*" not in one.text)
        promises += [("rule", rule.name, named, rule.but)] if named else []
    if not promises:
        return
    selectors = (one for _, _, of, but in promises for one in (*of, *but))
    traits = await load_traits(connection, set(candidates), selectors)
    for id_, one in traits.items():
        for kind, name, of, but in promises:
            if (not of or selects(of, one)) and not selects(but, one):
                uses.setdefault(id_, []).append(Use(kind, name, None))


async def _add_dependents(
    connection: Connection, candidates: Mapping[uuid.UUID, Named], uses: dict[uuid.UUID, list[Use]]
) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Add what the database itself has of a dataset: tables that stay and refer to it, and other objects that need it. Return pairs of datasets of
    which the second refers to the first, or has an object that does."""
    ids = {(one.namespace, one.name): id_ for id_, one in candidates.items()}
    pairs: dict[tuple[uuid.UUID, uuid.UUID], None] = {}
    wanted = [references.FACET, dependents.FACET]
    for id_, facets in (await facet_store.of_owners(connection, candidates, wanted)).items():
        namespace = candidates[id_].namespace
        keys = _read(facets.get(references.FACET), references.References)
        objects = _read(facets.get(dependents.FACET), dependents.Dependents)
        needing: list[tuple[str, str, str | None]] = (
            [("key", f"dataset:{namespace}:{one}", one) for one in sorted({each.table for each in keys.referenced_by})]
            if keys
            else []
        )
        needing += [
            (
                one.kind,
                f"dataset:{namespace}:{one.dataset}" if one.dataset and one.name in one.dataset else one.name,
                one.dataset,
            )
            for one in (objects.objects if objects else ())
        ]
        for kind, by, table in needing:
            child = ids.get((namespace, table)) if table else None
            if child is None:
                uses.setdefault(id_, []).append(Use(kind, by, None))
            elif child != id_:
                pairs[id_, child] = None
    return list(pairs)


def _read(body: bytes | None, kind: type[_Body]) -> _Body | None:
    """Return a facet's body; None if there is none, or not one of this form."""
    try:
        return msgspec.json.decode(body, type=kind) if body is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _add_feeding(
    pairs: list[tuple[uuid.UUID, uuid.UUID]],
    candidates: Mapping[uuid.UUID, Named],
    uses: dict[uuid.UUID, list[Use]],
) -> None:
    """Block all that feeds a blocked dataset, at any distance."""
    feeders: dict[uuid.UUID, list[uuid.UUID]] = {}
    for source, target in pairs:
        feeders.setdefault(target, []).append(source)
    last = {
        id_: max((use.last_used_at for use in found if use.last_used_at), default=None) for id_, found in uses.items()
    }
    waiting = list(uses)
    for target in waiting:
        for source in feeders.get(target, ()):
            if source not in last:
                last[source] = last[target]
                waiting.append(source)
            fed = candidates[target]
            uses.setdefault(source, []).append(Use("feeds", f"dataset:{fed.namespace}:{fed.name}", last[target]))


def _blocked(one: Named, uses: list[Use]) -> Blocked:
    oldest = dt.datetime.min.replace(tzinfo=dt.UTC)
    ordered = sorted(uses, key=lambda use: (use.kind == "feeds", -(use.last_used_at or oldest).timestamp(), use.by))
    return Blocked(
        f"dataset:{one.namespace}:{one.name}", one.namespace, one.name, short(one.name), ordered[:_MOST_USES], max(0, len(uses) - _MOST_USES)
    )  # fmt: skip
