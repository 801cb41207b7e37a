"""Columns of a renamed dataset (`lifecycleStateChange.previousIdentifier`): each comes from the column of the same name under the earlier name.

No event says so by column. The columns are those that the schemas have at the time of the question, or that column lineage names where no schema is
reported; a column that only one of the two names is known to have does not pass, unless nothing is known of the other.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterable, Mapping

import msgspec

from headwater.model import related
from headwater.model.facets import schema
from headwater.model.lineage import ColumnEdge, Origin, Transformation
from headwater.model.names import DatasetName
from headwater.store.database import Connection
from headwater.store.history import facets as facet_store
from headwater.store.lineage import column_flow, names
from headwater.store.lineage import edges as edge_store
from headwater.store.lineage import nodes as node_store
from headwater.store.lineage.edges import Moment

Pair = tuple[uuid.UUID, uuid.UUID]
_FACET = "lifecycleStateChange"
_SAME = Transformation("DIRECT", "IDENTITY", False, "renamed")
# Names in a row of which no column is known.
_MOST_UNKNOWN = 8


async def renames_of(connection: Connection, pairs: Collection[Pair], moment: Moment) -> dict[Pair, set[uuid.UUID]]:
    """Return the earlier names of the targets of these (job, target), of those that the job's report renames."""
    earlier = await _earlier_names(connection, {target for _, target in pairs}, moment)
    asked = [pair for pair in pairs if pair[1] in earlier]
    if not asked:
        return {}
    reads: dict[uuid.UUID, set[uuid.UUID]] = {}
    for edge in await edge_store.at_jobs(connection, {job for job, _ in asked}, "in", moment):
        reads.setdefault(edge.job, set()).add(edge.dataset)
    called = await _names(connection, {id_ for some in reads.values() for id_ in some})
    found = {
        (job, target): {
            one
            for one in reads.get(job, ())
            if one != target and not called.get(one, set()).isdisjoint(earlier[target])
        }
        for job, target in asked
    }
    return {pair: some for pair, some in found.items() if some}


async def renamed_edges(connection: Connection, pairs: Collection[Pair], moment: Moment) -> list[ColumnEdge]:
    """Return the column edges of these (job, target) that a rename implies."""
    renames = await renames_of(connection, pairs, moment)
    if not renames:
        return []
    columns = await _columns(connection, renames, moment)
    # A dataset that declares its own lineage under another of its names is a job by that name's id; what it writes has one id.
    settled = await names.canonical(connection, {target for _, target in renames})
    found = [
        ColumnEdge(job, settled.get(target, target), there, source, here, Origin.COLUMN_LINEAGE, _SAME)
        for (job, target), sources in sorted(renames.items())
        for source in sorted(sources - {settled.get(target, target)})
        for here, there in _same(columns.get(source, ()), columns.get(target, ()))
    ]
    return list(dict.fromkeys(found))


def _same(before: Iterable[str], after: Iterable[str]) -> list[tuple[str, str]]:
    """Return the columns that have the same name before and after, up to case; of a side without columns, those of the other."""
    old, new = ({name.lower(): name for name in sorted(side)} for side in (before, after))
    old, new = old or new, new or old
    return [(old[key], new[key]) for key in old if key in new]


async def _columns(
    connection: Connection, renames: Mapping[Pair, set[uuid.UUID]], moment: Moment
) -> dict[uuid.UUID, set[str]]:
    """Return the columns of both ends of these renames. An end without any has those of the names before it."""
    found: dict[uuid.UUID, set[str]] = {}
    earlier: dict[uuid.UUID, set[uuid.UUID]] = {}
    for (_, target), sources in renames.items():
        earlier.setdefault(target, set()).update(sources)
    front = {id_ for target, sources in earlier.items() for id_ in (target, *sources)}
    for _ in range(_MOST_UNKNOWN):
        found |= await _known_columns(connection, front, moment)
        unknown = {id_ for id_ in front if id_ not in found and id_ not in earlier}
        if not unknown:
            break
        before = await renames_of(connection, await _writers(connection, unknown, moment), moment)
        for (_, target), sources in before.items():
            earlier.setdefault(target, set()).update(sources)
        front = {id_ for sources in before.values() for id_ in sources if id_ not in found}
    for id_ in list(earlier):
        _inherit(id_, found, earlier, set())
    return found


def _inherit(
    id_: uuid.UUID, found: dict[uuid.UUID, set[str]], earlier: Mapping[uuid.UUID, set[uuid.UUID]], seen: set[uuid.UUID]
) -> set[str]:
    if id_ not in found and id_ not in seen:
        seen.add(id_)
        columns = {name for one in earlier.get(id_, ()) for name in _inherit(one, found, earlier, seen)}
        if columns:
            found[id_] = columns
    return found.get(id_, set())


async def _writers(connection: Connection, datasets: Collection[uuid.UUID], moment: Moment) -> set[Pair]:
    return {(edge.job, edge.dataset) for edge in await edge_store.at_datasets(connection, datasets, "out", moment)}


async def _known_columns(
    connection: Connection, datasets: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, set[str]]:
    """Return the columns by the schema at the time, or else those that column lineage names."""
    found: dict[uuid.UUID, set[str]] = {}
    for id_, told in (await facet_store.of_owners(connection, datasets, ("schema",), moment.as_of)).items():
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found[id_] = {field.name for field in schema(told["schema"])}
    rest = {id_ for id_ in datasets if not found.get(id_)}
    return found | (await column_flow.named(connection, rest) if rest else {})


async def _earlier_names(
    connection: Connection, datasets: Collection[uuid.UUID], moment: Moment
) -> dict[uuid.UUID, set[DatasetName]]:
    """Return the names that these datasets ever had before a rename, until a time."""
    found: dict[uuid.UUID, set[DatasetName]] = {}
    for owner, body in await facet_store.bodies_of(connection, datasets, _FACET, moment.as_of):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if before := related.previous_names(body):
                found.setdefault(owner, set()).update(before)
    return found


async def _names(connection: Connection, datasets: Collection[uuid.UUID]) -> dict[uuid.UUID, set[DatasetName]]:
    others = await names.aliases(connection, datasets)
    rows = await node_store.by_ids(connection, datasets)
    return {id_: {DatasetName(row.namespace, row.name), *others.get(id_, ())} for id_, row in rows.items()}
