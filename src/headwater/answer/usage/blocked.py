"""Uses of datasets that the query log does not show, which keep a dataset from being removed.

The query log judges reads by statements. The server also knows jobs of other producers, edges that people drew, declared entities, SLAs, rules and
subscriptions that name it, the tag `keep` of a dataset, and foreign keys that lead to it from a table that stays (their checks read it, and no log
shows that). Each of them blocks the advice, and so does feeding a dataset that is blocked.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Final

import msgspec

from headwater.answer.lineage import node
from headwater.answer.lineage.traits import load_traits
from headwater.answer.people.people import Words
from headwater.answer.status.schedules import of_datasets
from headwater.entities.alerts.rules import decode_rules
from headwater.entities.alerts.selectors import selects
from headwater.model import references
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


class Use(msgspec.Struct, frozen=True):
    """A use of a dataset. `kind`: `job` (another producer's, also a dashboard's or an exposure's), `person` (who drew an edge), `entity`, `sla`
    (that covers it), `rule` (of alerts, that names it), `mark` (the tag `keep`), `key` (a table that stays, whose foreign key leads to it),
    `feeds` (a dataset that is blocked). `by`: a node id, the entity, the SLA, the rule or the tag. `last_used_at`: null if no time is known.
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


async def find_blocked(connection: Connection) -> dict[uuid.UUID, Blocked]:
    """Return the datasets that are used although the query log shows no need of them, by id. A fixed number of statements."""
    candidates = {one.id: one for one in await store.candidates(connection)}
    uses: dict[uuid.UUID, list[Use]] = {}
    for reading in await store.readers(connection, candidates):
        by = f"job:{reading.namespace}:{reading.name}" if reading.name is not None else str(reading.job)
        uses.setdefault(reading.dataset, []).append(Use("person" if reading.drawn else "job", by, reading.last_at))
    await _add_marks(connection, candidates, uses)
    await _add_entities(connection, candidates, uses)
    await _add_promises(connection, candidates, uses)
    pairs = await _add_keys(connection, candidates, uses)
    _add_feeding(pairs + await store.feeding(connection, candidates), candidates, uses)
    return {id_: _blocked(candidates[id_], found) for id_, found in uses.items()}


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
    for rule in held.rules:
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


async def _add_keys(
    connection: Connection, candidates: Mapping[uuid.UUID, Named], uses: dict[uuid.UUID, list[Use]]
) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Add tables that stay and refer to a dataset; return pairs of datasets of which the second refers to the first."""
    ids = {(one.namespace, one.name): id_ for id_, one in candidates.items()}
    pairs = []
    for id_, facets in (await facet_store.of_owners(connection, candidates, [references.FACET])).items():
        try:
            body = msgspec.json.decode(facets[references.FACET], type=references.References)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        namespace = candidates[id_].namespace
        for table in sorted({one.table for one in body.referenced_by}):
            child = ids.get((namespace, table))
            if child is None:
                uses.setdefault(id_, []).append(Use("key", f"dataset:{namespace}:{table}", None))
            elif child != id_:
                pairs.append((id_, child))
    return pairs


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
