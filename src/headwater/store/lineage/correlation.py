"""Ancestry between single runs, items and contents: the closure's questions, and its upkeep.

The closure holds for every pair the fewest steps from the one to the other, up to `BOUND`; a question up to there is
one range of an index. Longer ways are found exactly by jumping from what is at the bound. The link between an item and
its content is no step.
"""

import datetime as dt
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from headwater.store import sqlfile
from headwater.store.arrays import Packed
from headwater.store.database import Connection
from headwater.store.events.rows import CorrelationEdgeRow, as_tuples
from headwater.store.lineage.run_lineage import VersionRow
from headwater.store.lineage.runs import RunKey

# Steps up to which the closure is kept. A run's output is one step from the run and two from the run's input. What a chain costs grows with
# it, and what is beyond is found as fast (docs/explanation/correlation.md has the measurement).
BOUND = 50
# More steps than any way has.
ALL = 1_000_000_000

Direction = Literal["ancestors", "descendants"]


class Node(msgspec.Struct, frozen=True, gc=False):
    """A run, an item or a content. `run_id` and `job_id` of an item are its writer's; `dataset_id` is the id of the name as reported,
    `part` (JSON) what was folded out of it.

    `collided`: two writers say the item is theirs, or one says it is two contents.
    """

    id: uuid.UUID
    kind: str
    dataset_id: uuid.UUID | None
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    external_version: str | None
    part: str | None
    bytes: int | None
    at: dt.datetime
    collided: bool


class Edge(msgspec.Struct, frozen=True, gc=False):
    """`role`: 0 the parent run caused the child, 1 the child read the parent, 2 the parent wrote the child, 3 the parent is this content
    (weight 0). `refused`: it would close a loop and is in no path."""

    parent: uuid.UUID
    child: uuid.UUID
    weight: int
    role: int
    refused: bool
    at: dt.datetime


class WrittenEdge(msgspec.Struct, frozen=True):
    """An edge as a write left it, with what edges of a loop are ordered by. `new`: this write brought it."""

    parent: uuid.UUID
    child: uuid.UUID
    weight: int
    role: int
    at: dt.datetime
    digest: bytes
    refused: bool
    new: bool = False


async def nodes(connection: Connection, ids: Collection[uuid.UUID]) -> list[Node]:
    """Return those of these nodes that are known, by id."""
    return [Node(*row) for row in await sqlfile.load("lineage/correlation")["nodes"].many(connection, ids=list(ids))]


async def of_run(connection: Connection, run: uuid.UUID) -> list[uuid.UUID]:
    """Nodes of a run: one for each job that reported under its id."""
    return [row[0] for row in await sqlfile.load("lineage/correlation")["of_run"].many(connection, run=run)]


async def of_version(connection: Connection, version: str) -> list[uuid.UUID]:
    """Contents with this version or fingerprint, of any dataset, and the items that are such a content."""
    return [row[0] for row in await sqlfile.load("lineage/correlation")["of_version"].many(connection, version=version)]


async def related(
    connection: Connection,
    ids: Collection[uuid.UUID],
    direction: Direction,
    depth: int | None,
    limit: int,
    *,
    bound: int = BOUND,
) -> list[tuple[uuid.UUID, int]]:
    """Return (node, steps) of the nodes above or below any of these, the nearest first, at most `limit`; the fewest
    steps count.

    `depth` None is all. Up to `bound` it is one statement that does not recurse; beyond, one that does. One of `ids`
    that is above or below another of them is in the result.
    """
    queries = sqlfile.load("lineage/correlation")
    if depth is None or depth > bound:
        far = ALL if depth is None else depth
        return [
            (row[0], row[1])
            for row in await queries[f"{direction}_beyond"].many(
                connection, ids=list(ids), depth=far, bound=bound, limit=limit
            )
        ]
    if len(ids) == 1:
        (one,) = ids
        rows = await queries[direction].many(connection, id=one, depth=depth, limit=limit)
    else:
        rows = await queries[f"{direction}_of_many"].many(connection, ids=list(ids), depth=depth, limit=limit)
    return [(row[0], row[1]) for row in rows]


async def edges_among(connection: Connection, ids: Collection[uuid.UUID]) -> list[Edge]:
    """Return the edges between these nodes, refused ones too."""
    return [
        Edge(*row) for row in await sqlfile.load("lineage/correlation")["edges_among"].many(connection, ids=list(ids))
    ]


async def versions_of(connection: Connection, ids: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, bool, VersionRow]]:
    """Return (item or content, whether it is all of the version, the version that it was written in).

    It is all of the version whose external version is its own, if no other item of the run has that, and of any if its run wrote nothing else to the
    dataset.
    """
    if not ids:
        return []
    rows = await sqlfile.load("lineage/correlation")["versions_of"].many(connection, ids=list(ids))
    return [(row[0], row[1], VersionRow(*row[2:])) for row in rows]


async def written_in(connection: Connection, versions: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Return (version, item or content that its run wrote to its dataset)."""
    if not versions:
        return []
    rows = await sqlfile.load("lineage/correlation")["written_in"].many(connection, ids=list(versions))
    return [(row[0], row[1]) for row in rows]


# -- upkeep: in the transaction that brought the edges, after everything else --


async def write(connection: Connection, edges: Sequence[CorrelationEdgeRow]) -> list[WrittenEdge]:
    """Write edges; those that are new or stand earlier than before.

    First waits for the transaction that maintains the closure now, and keeps the next one waiting until this one ends.
    """
    queries = sqlfile.load("lineage/correlation")
    await queries["lock"].many(connection)
    cursor = await queries["upsert_edges"].send_columns(
        connection, CorrelationEdgeRow.__struct_fields__, as_tuples(edges)
    )
    return [WrittenEdge(*row) for row in await cursor.fetchall()]


async def bridges(
    connection: Connection, children: Collection[uuid.UUID], parents: Collection[uuid.UUID], *, bound: int = BOUND
) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """Return (from, to) where the closure leads from the one to the other, such that the children lead to the parents
    they reach, however far, by one of these or several; one statement."""
    rows = await sqlfile.load("lineage/correlation")["bridges"].many(
        connection, children=sorted(children), parents=sorted(parents), bound=bound
    )
    return [(row[0], row[1]) for row in rows]


async def extend(
    connection: Connection, layers: Sequence[Sequence[tuple[uuid.UUID, uuid.UUID, int]]], *, bound: int = BOUND
) -> int:
    """Add edges (parent, child, weight) to the closure; what continues an edge is in a later layer. One statement.

    How many pairs were tried: not fewer than are new or nearer now, and hardly more.
    """
    flat = [edge for layer in layers for edge in layer]
    ends, last = [], 0
    for layer in layers:
        last += len(layer)
        ends.append(last)
    ((tried,),) = await sqlfile.load("lineage/correlation")["extend"].many(
        connection,
        parents=[edge[0] for edge in flat],
        children=[edge[1] for edge in flat],
        weights=Packed("int2", [edge[2] for edge in flat]),
        ends=Packed("int4", ends),
        bound=bound,
    )
    return int(tried)


async def tangle(
    connection: Connection, children: Collection[uuid.UUID], parents: Collection[uuid.UUID]
) -> list[WrittenEdge]:
    """Return the edges between nodes below a child and above a parent: all loops through edges from these parents to these children."""
    rows = await sqlfile.load("lineage/correlation")["tangle"].many(
        connection, children=sorted(children), parents=sorted(parents)
    )
    return [WrittenEdge(*row) for row in rows]


async def decide(connection: Connection, refused: Mapping[tuple[uuid.UUID, uuid.UUID], bool]) -> None:
    """Write down which of these edges are refused."""
    if refused:
        await sqlfile.load("lineage/correlation")["decide"].exec(
            connection,
            parents=[parent for parent, _ in refused],
            children=[child for _, child in refused],
            refused=Packed("bool", list(refused.values())),
        )


async def forget(connection: Connection, ids: Collection[uuid.UUID]) -> list[uuid.UUID]:
    """Take all paths to these nodes and to what is below them out of the closure; the ids of both."""
    return [row[0] for row in await sqlfile.load("lineage/correlation")["forget"].many(connection, ids=sorted(ids))]


async def leading_to(connection: Connection, ids: Collection[uuid.UUID]) -> list[tuple[uuid.UUID, uuid.UUID, int]]:
    """Return (parent, child, weight) of edges to these nodes that are not refused."""
    rows = await sqlfile.load("lineage/correlation")["leading_to"].many(connection, ids=list(ids))
    return [(row[0], row[1], row[2]) for row in rows]


async def by_item_or_run(connection: Connection, id_: uuid.UUID) -> list[uuid.UUID]:
    """The item or content with this id, and the nodes of the runs that go by it."""
    return [row[0] for row in await sqlfile.load("lineage/correlation")["by_item_or_run"].many(connection, id=id_)]


async def newest_of_dataset(connection: Connection, dataset: uuid.UUID) -> uuid.UUID | None:
    """Return the node of the newest version of a dataset (by the id that stands for all its names); None if no version has an id or a name."""
    rows = await sqlfile.load("lineage/correlation")["newest_of_dataset"].many(connection, dataset=dataset)
    return rows[0][0] if rows else None


async def how_many(
    connection: Connection, ids: Collection[uuid.UUID], *, up: bool, down: bool, depth: int | None
) -> int:
    """Return how many nodes are above (`up`) and below (`down`) these, which do not count; `depth` None is all."""
    if depth is not None and depth <= BOUND:
        (count,) = await sqlfile.load("lineage/correlation")["how_many"].one(
            connection, ids=list(ids), up=up, down=down, depth=depth
        )
        return int(count)
    found: set[uuid.UUID] = set()
    for direction, wanted in (("ancestors", up), ("descendants", down)):
        if wanted:
            found |= {id_ for id_, _ in await related(connection, ids, direction, depth, ALL)}  # type: ignore[arg-type]
    return len(found - set(ids))


async def writers(connection: Connection, items: Collection[uuid.UUID]) -> dict[uuid.UUID, list[RunKey]]:
    """Return for each item the runs that claim to have written it, in the order of their claims."""
    found: dict[uuid.UUID, list[RunKey]] = {}
    if items:
        for item, run, job in await sqlfile.load("lineage/correlation")["writers"].many(connection, ids=list(items)):
            found.setdefault(item, []).append(RunKey(run, job))
    return found


class Reader(msgspec.Struct, frozen=True):
    """A run that read a content and ended well. `dataset_id` is one of the names under which it lay."""

    run_id: uuid.UUID
    job_id: uuid.UUID
    state: int
    ended_at: dt.datetime | None
    dataset_id: uuid.UUID
    first_event_at: dt.datetime
    last_event_at: dt.datetime


async def readers_of_content(
    connection: Connection, version: str, *, namespace: str | None, name: str | None, limit: int
) -> list[Reader]:
    """Runs that read this content (of any dataset) and ended well, the newest first; of a job's namespace or name, if given."""
    rows = await sqlfile.load("lineage/correlation")["readers_of_content"].many(
        connection, version=version, namespace=namespace, name=name, limit=limit
    )
    return [Reader(*row) for row in rows]
