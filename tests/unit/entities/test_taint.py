"""What is wrong because something is: cases by hand, and random graphs walked instance by instance (`drawn_graphs.py`)."""

import itertools
import random
from collections.abc import Iterable

import pytest
from drawn_graphs import Instance, World, circular, reached, world

from headwater.entities.ordinals import Ordinals
from headwater.entities.taint import Reached, suspects, tainted


def roots(chance: random.Random, drawn: World, most: int = 3) -> dict[str, Ordinals]:
    """Some instances of some entities; most exist."""
    found = {}
    for name in chance.sample(list(drawn.graph.entities), min(len(drawn.graph.entities), chance.randrange(1, 3))):
        exist = drawn.exist[name]
        if not exist:
            continue
        first = chance.randrange(exist.first - 1, exist.end + 1)
        runs = [(first, first + chance.choice([1, 1, 2, 10]))]
        while len(runs) < chance.randrange(1, most + 1):
            at = chance.randrange(exist.first - 1, exist.end + 1)
            runs.append((at, at + 1))
        # What can never be there says nothing of who used it, where that is not a question of dates.
        timed = all(entity.instances for entity in drawn.graph.entities.values())
        found[name] = Ordinals(runs) if timed else Ordinals(runs) & exist
    return {name: some for name, some in found.items() if some}


def instances(sets: Iterable[tuple[str, Ordinals]]) -> set[Instance]:
    return {(name, k) for name, some in sets for k in some.members().tolist()}


def hits(answer: Reached) -> set[Instance]:
    return instances((name, hit.instances) for name, hit in answer.hits.items())


def check(seed: int) -> int:
    """One graph both ways. How many instances were compared; none where the graph was refused."""
    chance = random.Random(seed)
    drawn = world(chance)
    if drawn is None:
        return 0
    assert not circular(drawn), seed
    wrong = roots(chance, drawn)
    if not wrong:
        return 0
    compared = 0
    for forward, asked in ((True, tainted), (False, suspects)):
        answer = asked(drawn.graph, wrong, drawn.facts())
        expected = reached(drawn, instances(wrong.items()), forward)
        assert hits(answer) == set(expected), (seed, forward)
        sure = reached(drawn, instances(wrong.items()), forward, exact=True)
        assert instances((name, hit.exact) for name, hit in answer.hits.items()) == set(sure), (seed, forward)
        depth = nearest(drawn, wrong, expected, forward)
        assert {name: hit.depth for name, hit in answer.hits.items()} == depth, (seed, forward)
        for name, hit in answer.hits.items():
            assert (hit.witness is None) == (name in wrong)
            assert (hit.basis == "exact") == all(at in sure for at in expected if at[0] == name)
            if hit.witness is not None:
                before = hit.witness.upstream if forward else hit.witness.downstream
                assert depth[before] == hit.depth - 1, (seed, name)
        explained(drawn, answer, wrong, expected, forward, chance)
        compared += sum(some.count for some in drawn.exist.values())
    return compared


def nearest(drawn: World, wrong: dict[str, Ordinals], expected: dict[Instance, int], forward: bool) -> dict[str, int]:
    """Of each entity the fewest links over which anything came."""
    passed = set()
    for link, pairs in drawn.pairs:
        for k, u in pairs:
            ends = [(link.upstream, u), (link.downstream, k)]
            start, end = ends if forward else ends[::-1]
            if start in expected and end in expected and end[1] in drawn.exist[end[0]]:
                passed.add((start[0], end[0]))
    found = dict.fromkeys(wrong, 0)
    queue = list(wrong)
    for name in queue:
        for end in sorted(end for start, end in passed if start == name and end not in found):
            found[end] = found[name] + 1
            queue.append(end)
    return found


def explained(
    drawn: World,
    answer: Reached,
    wrong: dict[str, Ordinals],
    expected: dict[Instance, int],
    forward: bool,
    chance: random.Random,
) -> None:
    """Paths of some instances: each step a pair, and no shorter way, where no snapshot shortens them."""
    held = {id(link): pairs for link, pairs in drawn.pairs}
    carries = any(link.carried for link, _ in drawn.pairs)
    for name, ordinal in chance.sample(sorted(expected), min(3, len(expected))):
        path = answer.why(name, ordinal)
        assert (path[0].entity, path[0].ordinal) == (name, ordinal)
        assert path[-1].link is None
        assert path[-1].ordinal in wrong[path[-1].entity]
        for at, after in itertools.pairwise(path):
            assert at.link is not None
            ends = (at, after) if forward else (after, at)
            assert (at.link.downstream, at.link.upstream) == (ends[0].entity, ends[1].entity)
            if not at.link.carried:
                assert (ends[0].ordinal, ends[1].ordinal) in held[id(at.link)]
        if not carries:
            assert len(path) == expected[name, ordinal] + 1
    assert answer.why(name, 10**9) == []


@pytest.mark.parametrize("block", range(10))
def test_it_is_what_a_walk_from_instance_to_instance_finds(block: int) -> None:
    assert sum(check(seed) for seed in range(block * 20, block * 20 + 20)) > 0
