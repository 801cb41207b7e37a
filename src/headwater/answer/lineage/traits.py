"""Tags, owners and teams of datasets and jobs, for selectors and addresses. A job has those of the datasets that it writes, too."""

import uuid
from collections.abc import Collection, Iterable, Mapping

from headwater.answer.lineage import node
from headwater.answer.lineage.catalog import contacts_of
from headwater.answer.people.people import Words
from headwater.entities.alerts.deciding import Contacts
from headwater.entities.alerts.selectors import Selector, Traits, directions
from headwater.model.tags import TEAM
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import names as name_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment
from headwater.store.people import annotations as annotation_store

_DEPTH, _MOST = 100, 5_000


async def load_traits(
    connection: Connection, ids: Collection[uuid.UUID], selectors: Iterable[Selector] = ()
) -> dict[uuid.UUID, Traits]:
    """Return the traits of these datasets and jobs; a fixed number of statements for each selector of a direction, and for the rest together."""
    rows = await node_store.by_ids(connection, ids)
    written = await _written(connection, [id_ for id_, row in rows.items() if row.type == "JOB"])
    every = {*rows, *(id_ for some in written.values() for id_ in some)}
    facets = await facet_store.of_owners(connection, every, ("ownership", "tags"))
    said = await annotation_store.of_owners(connection, every)
    around: dict[str, set[uuid.UUID]] = {}
    for selector in directions(selectors):
        around[str(selector)] = await _reached(connection, selector)
    found = {}
    for id_, row in rows.items():
        tags: dict[str, None] = {}
        owners: dict[str, None] = {}
        for each in (id_, *sorted(written.get(id_, ()))):
            words, mine = Words(said.get(each, ())), facets.get(each, {})
            tags |= {tag.text: None for tag in node.tags_with(words, mine.get("tags"))}
            owners |= {owner.name: None for owner in words.owners(node.decode_owners(mine.get("ownership")))}
        pairs = [tag.partition(":") for tag in tags]
        teams = tuple(value for key, _, value in pairs if key.casefold() == TEAM and value)
        mine_around = frozenset(text for text, reached in around.items() if id_ in reached)
        found[id_] = Traits(row.node_id, row.namespace, tuple(tags), tuple(owners), teams, mine_around)
    return found


async def load_contacts(
    connection: Connection, nodes: Mapping[str, uuid.UUID], *, downstream: bool
) -> dict[str, Contacts]:
    """Return the people behind these subjects, and, if asked for, the owners of everything downstream of each."""
    traits = await load_traits(connection, set(nodes.values()))
    found = {}
    for subject, id_ in nodes.items():
        if id_ in traits:
            below = await _owners_below(connection, id_, traits[id_]) if downstream else ()
            found[subject] = Contacts(traits[id_].owners, traits[id_].teams, below)
    return found


async def _owners_below(connection: Connection, id_: uuid.UUID, traits: Traits) -> tuple[str, ...]:
    reached = await _walk(connection, [id_], traits.id.startswith("job:"), "downstream") - {id_}
    contacts = await contacts_of(connection, reached)
    return tuple(sorted({owner for one in contacts.values() for owner in one.owners}))


async def _written(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    found: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, jobs, "out", Moment()):
        found.setdefault(edge.job, set()).add(edge.dataset)
    return found


async def _reached(connection: Connection, selector: Selector) -> set[uuid.UUID]:
    """The datasets of these names, and what is upstream or downstream of them."""
    ids = await name_store.matching(connection, [selector.pattern.regex])
    return set(ids) | await _walk(connection, ids, False, selector.kind) if ids else set()


async def _walk(connection: Connection, ids: Collection[uuid.UUID], jobs: bool, direction: str) -> set[uuid.UUID]:
    """The datasets and jobs in one direction, of at most 5,000."""
    near, far = ("out", "in") if direction == "upstream" else ("in", "out")
    met, fresh = set(ids), set(ids)
    at_jobs = jobs
    for _ in range(2 * _DEPTH):
        if not fresh or len(met) > _MOST:
            break
        if at_jobs:
            found = {edge.dataset for edge in await edge_store.at_jobs(connection, fresh, far, Moment())}
        else:
            found = {edge.job for edge in await edge_store.at_datasets(connection, fresh, near, Moment())}
        fresh, at_jobs = found - met, not at_jobs
        met |= found
    return met
