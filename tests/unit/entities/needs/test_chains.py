"""Chains closed at once, against a walk along the ordinals."""

import random

import pytest
from tests.scale import full

from headwater.entities.needs.chains import backward, carried_from, onward
from headwater.entities.needs.kinds import carried
from headwater.entities.time.ordinals import NONE, Ordinals


def of(members: set[int]) -> Ordinals:
    return Ordinals.of(sorted(members))


def some(chance: random.Random, share: float) -> set[int]:
    return {k for k in range(-5, 60) if chance.random() < share}


@pytest.mark.parametrize("seed", range(full(200, 50)))
def test_steps_onward_and_back(seed: int) -> None:
    chance = random.Random(seed)
    seeds, allowed = some(chance, chance.choice([0.02, 0.05, 0.3])), some(chance, chance.choice([0.3, 0.7, 0.95, 1.0]))
    far = chance.randrange(1, 12)
    near = chance.choice([1, far])
    expected = set(seeds)
    for k in range(-5, 60):
        if k in allowed and any(k - lag in expected for lag in range(near, far + 1)):
            expected.add(k)
    assert onward(of(seeds), of(allowed), near, far) == of(expected)
    mirrored = {-k for k in expected}
    assert backward(of({-k for k in seeds}), of({-k for k in allowed}), near, far) == of(mirrored)


def test_what_has_no_closed_form_is_not_closed() -> None:
    assert onward(Ordinals.between(0, 1), Ordinals.between(0, 9), 2, 3) is None
    assert backward(Ordinals.between(0, 1), Ordinals.between(0, 9), 2, 3) is None
    assert onward(NONE, Ordinals.between(0, 9), 2, 3) == NONE


@pytest.mark.parametrize("seed", range(full(200, 50)))
def test_what_a_snapshot_was_carried_from_is_the_mirror(seed: int) -> None:
    chance = random.Random(seed)
    exist, cuts, wrong = some(chance, 0.7), some(chance, 0.1), some(chance, 0.05)
    expected = {u for u in exist if wrong & set(carried(of({u}), of(exist), of(cuts & exist)).members().tolist())}
    assert carried_from(of(wrong), of(exist), of(cuts)) == of(expected & exist)
