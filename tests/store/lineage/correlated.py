"""Edges of correlation told straight to the store, and what the closure has to be, by walking."""

import datetime as dt
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from headwater.intake.events import closure
from headwater.store.database import Connection, Database
from headwater.store.lineage.correlation import BOUND

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
# (parent, child, role, seconds, digest)
Told = tuple[int, int, int, int, bytes]


def node(number: int) -> uuid.UUID:
    return uuid.UUID(int=number + 1)


def number(id_: uuid.UUID) -> int:
    return id_.int - 1


async def tell(database: Database, told: Iterable[Told], bound: int = BOUND) -> None:
    """One transaction, as an event's."""
    async with database.transaction() as connection:
        await told_in(connection, told, bound)


async def told_in(connection: Connection, told: Iterable[Told], bound: int = BOUND) -> None:
    rows = [(node(p), node(c), role, BEGIN + dt.timedelta(seconds=at), digest) for p, c, role, at, digest in told]
    await closure.update_closure(connection, rows, bound=bound)


async def kept(database: Database) -> tuple[dict[tuple[int, int], bool], dict[tuple[int, int], int]]:
    """(refused by edge, depth by pair) as the database has it."""
    async with database.connection() as connection:
        edges = await (
            await connection.execute("select parent_id, child_id, refused from correlation_edges")
        ).fetchall()
        paths = await (
            await connection.execute("select ancestor_id, descendant_id, depth from correlation_paths")
        ).fetchall()
    assert len({(a, d) for a, d, _ in paths}) == len(paths)
    return {(number(p), number(c)): r for p, c, r in edges}, {(number(a), number(d)): n for a, d, n in paths}


def expected(told: Sequence[Told], bound: int | None) -> tuple[dict[tuple[int, int], bool], dict[tuple[int, int], int]]:
    """Return the expected edges and paths: edges one by one in their order, refused when they close a loop; then a walk from every node."""
    first: dict[tuple[int, int], tuple[Any, ...]] = {}
    for parent, child, role, at, digest in told:
        place = (at, digest, role, parent, child)
        if (parent, child) not in first or place < first[parent, child]:
            first[parent, child] = place
    below: dict[int, list[tuple[int, int]]] = {}
    refused = {}
    for (parent, child), place in sorted(first.items(), key=lambda item: item[1]):
        refused[parent, child] = parent == child or parent in walked(below, child)
        if not refused[parent, child]:
            below.setdefault(parent, []).append((child, 0 if place[2] == 3 else 1))
    pairs = {
        (start, end): depth
        for start in below
        for end, depth in walked(below, start).items()
        if end != start and (bound is None or depth <= bound)
    }
    return refused, pairs


def walked(below: dict[int, list[tuple[int, int]]], start: int) -> dict[int, int]:
    """The smallest number of steps to each descendant."""
    found = {start: 0}
    ready = deque([start])
    while ready:
        at = ready.popleft()
        for child, weight in below.get(at, ()):
            if child not in found or found[at] + weight < found[child]:
                found[child] = found[at] + weight
                (ready.append if weight else ready.appendleft)(child)
    return found
