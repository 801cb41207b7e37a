"""Datasets and jobs: by id, by page, by words."""

import datetime as dt
import uuid
from collections.abc import Collection

import msgspec

from headwater.model import statement_jobs
from headwater.store import sqlfile
from headwater.store.database import Connection


class NodeRow(msgspec.Struct, frozen=True, gc=False):
    """A dataset or a job. `type` is DATASET or JOB."""

    id: uuid.UUID
    type: str
    namespace: str
    name: str
    first_seen: dt.datetime
    last_seen: dt.datetime
    parent_id: uuid.UUID | None

    @property
    def node_id(self) -> str:
        return f"{self.type.lower()}:{self.namespace}:{self.name}"


class Hit(msgspec.Struct, frozen=True):
    """A node that a name was taken for, and the name of it that was: a dataset may have several."""

    id: uuid.UUID
    type: str
    namespace: str
    name: str
    told_namespace: str
    told_name: str

    @property
    def node_id(self) -> str:
        return f"{self.type.lower()}:{self.namespace}:{self.name}"

    @property
    def reported_id(self) -> str:
        return f"{self.type.lower()}:{self.told_namespace}:{self.told_name}"


async def by_ids(connection: Connection, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, NodeRow]:
    if not ids:
        return {}
    rows = await sqlfile.load("lineage/nodes")["by_ids"].many(connection, ids=list(ids))
    return {row[0]: NodeRow(*row) for row in rows}


async def first_seen(connection: Connection, dataset: uuid.UUID) -> dt.datetime:
    """Return when a dataset was first reported, by any of its names."""
    found: dt.datetime = (await sqlfile.load("lineage/nodes")["first_seen"].one(connection, id=dataset))[0]
    return found


async def names(
    connection: Connection, datasets: Collection[uuid.UUID], jobs: Collection[uuid.UUID]
) -> list[tuple[int, str, str]]:
    """Return (place, namespace, name) of these datasets and then of these jobs: places count through both. Less than a third of what `by_ids` costs,
    for answers that name thousands."""
    rows = await sqlfile.load("lineage/nodes")["names"].packed(connection, datasets=list(datasets), jobs=list(jobs))
    return [(nr, namespace, name) for nr, namespace, name in rows]


async def page(
    connection: Connection,
    kind: str,
    *,
    namespace: str | None,
    words: str | None,
    query: str | None = None,
    top: bool = False,
    parent: uuid.UUID | None = None,
    statements: bool = True,
    sort: str = "updated",
    down: bool = True,
    limit: int,
    offset: int,
) -> tuple[list[NodeRow], int]:
    """Return a page of `datasets` or `jobs`, the one with the latest event first, and how many there are. `query`: of their search documents.

    `top`: only jobs without a parent. `parent`: only the jobs below this one. `statements`: also jobs that are one statement of the job above.
    """
    queries = sqlfile.load("lineage/nodes")
    narrow: dict[str, object] = {
        "namespace": namespace,
        "pattern": f"%{literal(words)}%" if words else None,
        "query": query,
    }
    if kind == "jobs":
        narrow |= {"top": top, "parent": parent, "statements": None if statements else statement_jobs.PATTERN}
    if (sort, down) == ("updated", True):
        rows = await queries[f"{kind}_page"].many(connection, **narrow, limit=limit, offset=offset)
    else:
        rows = await queries[f"{kind}_page_sorted"].many(
            connection, **narrow, sort=sort, down=down, limit=limit, offset=offset
        )
    (total,) = await queries[f"{kind}_count"].one(connection, **narrow)
    return [NodeRow(*row) for row in rows], total


async def child_counts(connection: Connection, jobs: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Return how many jobs are directly below each of these jobs; absent: none."""
    if not jobs:
        return {}
    return dict(await sqlfile.load("lineage/nodes")["child_counts"].many(connection, ids=list(jobs)))


async def namespaces(connection: Connection, *, limit: int, offset: int) -> list[tuple[str, dt.datetime]]:
    """Return (name, first seen) of namespaces."""
    rows = await sqlfile.load("lineage/nodes")["namespaces"].many(connection, limit=limit, offset=offset)
    return [(row[0], row[1]) for row in rows]


async def existing_namespaces(connection: Connection, names: Collection[str]) -> dict[str, bool]:
    """Return those of these namespaces that exist, each with whether it is hidden."""
    return dict(await sqlfile.load("lineage/nodes")["existing_namespaces"].many(connection, names=list(names)))


async def of_namespace(connection: Connection, namespace: str, *, hidden: bool) -> list[NodeRow]:
    """Return every dataset and job of a namespace that is hidden, or that is not."""
    rows = await sqlfile.load("lineage/nodes")["of_namespace"].many(connection, namespace=namespace, hidden=hidden)
    return [NodeRow(*row) for row in rows]


async def counts(connection: Connection) -> tuple[int, int, int]:
    """Return the numbers of datasets, jobs and runs."""
    row = await sqlfile.load("lineage/nodes")["counts"].one(connection)
    return row[0], row[1], row[2]


async def ending_with(connection: Connection, name: str) -> list[Hit]:
    """Return nodes whose name, or namespace and name, ends with these characters on a border of names (at most 200). No hidden ones."""
    # `a:b:c` may be the end of a name, or namespace `a:b` with the name `c`, or `b:c` in `a`: any name that begins behind a colon. So may `a/b`.
    cuts = [name[place + 1 :] for place, char in enumerate(name) if char in ":/"]
    rows = await sqlfile.load("lineage/nodes")["ending_with"].many(
        connection, pattern=_ending(name), name=name, whole=[cut.replace("\0", "") for cut in cuts[:50] if cut]
    )
    return [Hit(*row) for row in rows]


async def in_schema(connection: Connection, schema: str) -> list[tuple[NodeRow, str]]:
    """Return the datasets of a schema (`s`, or `db.s`; case does not count), each with its name within it. At most 2,001, no hidden ones."""
    rows = await sqlfile.load("lineage/nodes")["in_schema"].many(connection, schema=literal(schema))
    return [(NodeRow(*row[:7]), row[7]) for row in rows]


def _ending(name: str) -> str:
    """A LIKE pattern for the reversed ends of names, which are indexed up to 200 characters."""
    return f"{literal(name[-200:][::-1])}%"


async def near_misses(connection: Connection) -> list[tuple[str, str]]:
    """Return (node id only read, node id only written) with the same last segment, compared without case (at most 50)."""
    return [(row[0], row[1]) for row in await sqlfile.load("lineage/nodes")["near_misses"].many(connection)]


def literal(words: str) -> str:
    """The words as they are, inside a LIKE pattern."""
    return words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("\0", "")
