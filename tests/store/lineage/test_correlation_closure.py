"""The closure equals a walk over the edges, for any edges in any order, batches and repetition."""

import random
from typing import Any

import pytest
from tests.fixtures.postgres import empty
from tests.scale import full
from tests.store.lineage.correlated import Told, expected, kept, node, number, tell

from headwater.store.database import Database
from headwater.store.lineage import correlation


def drawn(draw: random.Random, nodes: int, edges: int, *, loops: bool) -> list[Told]:
    """Edges at few times, so that ties are common; without loops, from lower numbers to higher."""
    told = []
    for _ in range(edges):
        one, other = draw.sample(range(nodes), 2)
        parent, child = (one, other) if loops else (min(one, other), max(one, other))
        if loops and draw.random() < 0.05:
            child = parent
        # An item is a content: a step of no weight, which never leads back without a step that has one.
        role = 3 if parent % 3 == 1 and child % 3 == 2 else 2
        told.append((parent, child, role, draw.randrange(4), draw.choice([b"a", b"b", b"c"])))
    return told


def batches(draw: random.Random, told: list[Told]) -> list[list[Told]]:
    """Shuffled, some said twice, in batches of any size."""
    some = told + draw.choices(told, k=draw.randrange(4))
    draw.shuffle(some)
    found = []
    while some:
        take = draw.choice([1, 1, 2, 5, 100])
        found.append(some[:take])
        some = some[take:]
    return found


async def told_all(database: Database, some: list[list[Told]], bound: int) -> None:
    await empty(database)
    for batch in some:
        await tell(database, batch, bound)


@pytest.mark.parametrize("seed", range(full(60, 20)))
def test_it_is_what_a_walk_finds(database: Database, run: Any, seed: int) -> None:
    draw = random.Random(seed)
    nodes = draw.choice([4, 8, 20])
    told = drawn(draw, nodes, draw.choice([5, 12, 40]), loops=seed % 3 > 0)
    refused, pairs = expected(told, 3)
    for _ in range(3):
        some = batches(draw, told)
        run(told_all(database, some, 3))
        found = run(kept(database))
        assert found[0] == refused, some
        assert found[1] == pairs, some


@pytest.mark.parametrize("seed", range(full(20, 8)))
def test_a_question_is_exact_whatever_the_distance(database: Database, run: Any, seed: int) -> None:
    """Also beyond the bound, which is 3 here: a long chain with ways that shorten it."""
    draw = random.Random(seed)
    told: list[Told] = [(at, at + 1, 3 if at % 3 == 1 else 2, at, b"") for at in range(40)]
    told += drawn(draw, 41, 6, loops=False)
    run(told_all(database, batches(draw, told), 3))
    refused, pairs = expected(told, None)
    assert not any(refused.values())

    async def ask(ids: list[int], direction: Any, depth: int | None, limit: int = 1000) -> list[tuple[int, int]]:
        async with database.connection() as connection:
            found = await correlation.related(connection, [node(one) for one in ids], direction, depth, limit, bound=3)
        return [(number(id_), steps) for id_, steps in found]

    for depth in (1, 3, 4, 7, 11, None):
        for start in (0, 7, 40):
            down = sorted((d, n) for (a, n), d in pairs.items() if a == start and d <= (depth or 99))
            up = sorted((d, n) for (n, e), d in pairs.items() if e == start and d <= (depth or 99))
            assert [(d, n) for n, d in run(ask([start], "descendants", depth))] == down
            assert [(d, n) for n, d in run(ask([start], "ancestors", depth))] == up
            assert [(d, n) for n, d in run(ask([start], "descendants", depth, 2))] == down[:2]
        both: dict[int, int] = {}
        for (a, n), d in pairs.items():
            if a in {3, 20} and d <= (depth or 99):
                both[n] = min(d, both.get(n, 99))
        assert dict(run(ask([3, 20], "descendants", depth))) == both


def test_the_rows_of_the_document(database: Database, run: Any) -> None:
    """aaa > bbb > ccc and aaa > eee, without the rows of depth 0."""
    aaa, bbb, ccc, eee = range(4)
    run(tell(database, [(aaa, bbb, 2, 0, b""), (bbb, ccc, 2, 1, b"")]))
    run(tell(database, [(aaa, eee, 2, 2, b"")]))
    assert run(kept(database))[1] == {(aaa, bbb): 1, (bbb, ccc): 1, (aaa, ccc): 2, (aaa, eee): 1}

    async def ask(id_: int, direction: Any) -> list[tuple[int, int]]:
        async with database.connection() as connection:
            found = await correlation.related(connection, [node(id_)], direction, correlation.BOUND, 100)
        return [(number(one), depth) for one, depth in found]

    assert run(ask(aaa, "descendants")) == [(bbb, 1), (eee, 1), (ccc, 2)]
    assert run(ask(eee, "ancestors")) == [(aaa, 1)]
