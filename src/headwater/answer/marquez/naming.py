"""Resolve names in paths and node ids to datasets and jobs. A dataset answers to every name it has, a job to its own and its full one."""

import uuid
from collections.abc import Collection

from headwater.answer.marquez import annotations
from headwater.errors import NotFound
from headwater.model import version
from headwater.model.dbt_jobs import names_by_relation
from headwater.model.identity import Identity
from headwater.model.names import DatasetName, bounded, normalised
from headwater.store.database import Connection
from headwater.store.events import server_state
from headwater.store.marquez import marquez as rows
from headwater.store.marquez.marquez import DatasetRow, JobRow

# The built-in spellings, which hold under any naming rules.
_SPELLINGS = Identity()
# A name with more dots or colons than this is read by its last ones only.
_MOST_CUTS = 64


async def dataset(connection: Connection, namespace: str, name: str) -> DatasetRow:
    """The dataset by any of its names. Raises NotFound, also for one that is hidden."""
    found = (await datasets_of(connection, [(namespace, name)])).get((namespace, name))
    if found is None:
        await namespace_of(connection, namespace)
        raise NotFound(f"Dataset '{name}' not found.")
    return found


async def datasets_of(connection: Connection, names: Collection[tuple[str, str]]) -> dict[tuple[str, str], DatasetRow]:
    """Resolve each (namespace, name) to its dataset; a name that means none, or a hidden one, is absent."""
    asked: dict[tuple[str, str], list[uuid.UUID]] = {
        one: [version.dataset_id(_SPELLINGS.place(DatasetName(*one)).name), version.dataset_id(DatasetName(*one))]
        for one in names
    }
    resolved = await rows.datasets_resolved(connection, {id_ for ids in asked.values() for id_ in ids})
    if asked and not resolved and (rules := (await server_state.read(connection)).rules):
        identity = Identity(rules)
        asked = {one: [version.dataset_id(identity.place(DatasetName(*one)).name)] for one in names}
        resolved = await rows.datasets_resolved(connection, {id_ for ids in asked.values() for id_ in ids})
    found = {}
    for one, ids in asked.items():
        for id_ in ids:
            if id_ in resolved and not resolved[id_].hidden:
                found[one] = resolved[id_]
                break
    return found


async def namespace_of(connection: Connection, name: str) -> str:
    """The namespace as it is spelled here. Raises NotFound for an unknown one."""
    spelled = normalised(name, "").namespace
    known = {one[0] for one in await rows.namespaces(connection, [], [name, spelled], None, 0)}
    if name in known or spelled in known:
        return name if name in known else spelled
    if name in await annotations.created_by_people(connection, "namespace"):
        return name
    raise NotFound(f"Namespace '{name}' not found.")


async def job(connection: Connection, namespace: str, name: str) -> JobRow:
    """The job by its full name, or else by its own. Raises NotFound, also for one that is hidden."""
    namespace, name = bounded(namespace), bounded(name)
    found = (await jobs_of(connection, [(namespace, name)])).get((namespace, name))
    if found is None:
        # dbt-ol's name of a model's job, by its relation.
        by_node = await jobs_of(connection, [(namespace, one) for one in names_by_relation(name)])
        if len(by_node) == 1:
            return next(iter(by_node.values()))
        await namespace_of(connection, namespace)
        raise NotFound(f"Job '{name}' not found.")
    return found


async def jobs_of(connection: Connection, names: Collection[tuple[str, str]]) -> dict[tuple[str, str], JobRow]:
    """Resolve each (namespace, name) to its job; a name that means none, or a hidden one, is absent."""
    asked = {(namespace, own) for namespace, name in names for own in _own_names(name)}
    found: dict[tuple[str, str], JobRow] = {}
    candidates = [row for row in await rows.jobs_named(connection, asked) if not row.hidden]
    wanted = set(names)
    for row in candidates:
        if (row.namespace, row.full_name) in wanted:
            found[row.namespace, row.full_name] = row
    for row in candidates:
        if (row.namespace, row.name) in wanted:
            found.setdefault((row.namespace, row.name), row)
    return found


def _own_names(name: str) -> list[str]:
    """The name, and every ending of it that may be the job's own name after its parent's."""
    cuts = [place for place, char in enumerate(name) if char == "." and 0 < place < len(name) - 1][-_MOST_CUTS:]
    return [name, *(name[cut + 1 :] for cut in cuts)]
