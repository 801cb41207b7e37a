"""`model.shared_traits` finds what bad runs share, and nothing where they share nothing."""

import random

from tests.scale import full

from headwater.model.observation import Aspect, Kind, Observation
from headwater.model.shared_traits import Trait, find_shared

_ENGINE, _CLUSTER = Aspect(Kind.ENGINE, "spark"), Aspect(Kind.CLUSTER, "id")
_ROUNDS = range(full(400, 8))


def _jobs(draw: random.Random, count: int, *, effect: float, base: float, traits: int = 60) -> list[Observation]:
    """Jobs with many random traits, of which some run on the new engine and fail with the probability `effect` there."""
    runs = []
    for _ in range(count):
        values = {Aspect(Kind.ENVIRONMENT, f"VAR{n}"): f"v{draw.randrange(1 + n % 7)}" for n in range(traits)}
        values[_ENGINE] = draw.choice(["3.5", "3.5", "3.5", "4.0"])
        values[_CLUSTER] = draw.choice("abcdefgh")
        rate = effect if values[_ENGINE] == "4.0" else base
        runs.append(Observation(draw.random() < rate, values))
    return runs


def test_the_planted_upgrade_comes_first() -> None:
    for seed in _ROUNDS:
        findings = find_shared(_jobs(random.Random(seed), 300, effect=0.6, base=0.03)).findings
        assert findings[0].traits == [Trait(_ENGINE, "4.0")]
        assert findings[0].low > 1


def test_nothing_stands_out_where_nothing_is_shared() -> None:
    claims = sum(bool(find_shared(_jobs(random.Random(seed), 300, effect=0.1, base=0.1)).findings) for seed in _ROUNDS)
    assert claims <= 0.05 * len(_ROUNDS)


def test_two_causes_are_two_findings_and_what_goes_with_one_is_none() -> None:
    for seed in _ROUNDS:
        draw = random.Random(seed)
        runs = []
        for one in _jobs(draw, 400, effect=0.9, base=0.02):
            values = dict(one.values)
            # The new engine is mostly in one zone: the zone alone does no harm.
            values[Aspect(Kind.HOST, "zone")] = "new" if values[_ENGINE] == "4.0" or draw.random() < 0.1 else "old"
            bad = one.bad or (values[_CLUSTER] == "c" and draw.random() < 0.9)
            runs.append(Observation(bad, values))
        found = find_shared(runs)
        assert [each.traits for each in found.findings] in (
            [[Trait(_ENGINE, "4.0")], [Trait(_CLUSTER, "c")]],
            [[Trait(_CLUSTER, "c")], [Trait(_ENGINE, "4.0")]],
        )


def test_traits_in_the_same_runs_are_one_finding() -> None:
    release = Aspect(Kind.CODE, "version")
    runs = [
        Observation(n < 10, {_ENGINE: "4.0" if n < 10 else "3.5", release: "b" if n < 10 else "a"}) for n in range(100)
    ]
    (one,) = find_shared(runs).findings
    assert one.traits == [Trait(release, "b"), Trait(_ENGINE, "4.0")]
    assert (one.bad_with, one.good_with, one.bad_without, one.good_without, one.lift) == (10, 0, 0, 90, None)


def test_two_runs_are_too_few_and_all_bad_are_no_contrast() -> None:
    assert find_shared([Observation(n < 2, {_ENGINE: "4.0" if n < 2 else "3.5"}) for n in range(50)]).findings == []
    assert find_shared([Observation(True, {_ENGINE: "4.0"}) for _ in range(50)]).findings == []
    assert find_shared([]).findings == []
