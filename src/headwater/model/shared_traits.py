"""Traits that bad runs of many jobs share and good runs do not. Pure.

Each trait (an aspect with a value) is tested by Fisher's exact test, one-sided, and the results are corrected for the number of traits tested
(Bonferroni). Traits that are in exactly the same runs are one finding. What is left of the bad runs when those of the first finding are put aside is
tested again, so that two causes at once are two findings, and what only goes with a cause is none.
"""

import itertools
import math
from collections.abc import Iterable, Sequence

import msgspec

from headwater.model.observation import Aspect, Observation

SURE = 0.01
"""The probability, after correction, below which a trait stands out."""
_FEWEST_BAD = 3
_MOST_FINDINGS = 10
_NORMAL = 1.959964
_ONE = ord("1")
# A trait must be in this share of all bad runs that a finding has to explain, or in this many of them.
_SHARE, _ENOUGH = 0.05, 5


class Trait(msgspec.Struct, frozen=True):
    aspect: Aspect
    value: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Traits that are in the same runs. `lift`: how many times as often runs with them are bad as runs without; None: no run without them is bad.

    `low`, `high`: the 95 % confidence interval of the odds ratio (Woolf, 0.5 added to each count). `chance`: the probability of such a difference
    where there is none, corrected for the number of traits that were tested.
    """

    traits: list[Trait]
    bad_with: int
    good_with: int
    bad_without: int
    good_without: int
    lift: float | None
    low: float
    high: float
    chance: float


class Shared(msgspec.Struct, frozen=True):
    """Findings, the strongest first. `tested`: traits that were tested. `unexplained`: bad runs that no finding has."""

    findings: list[Finding]
    tested: int
    unexplained: int


def find_shared(runs: Sequence[Observation]) -> Shared:
    """Find what the bad runs share."""
    places: dict[Aspect, dict[str, list[int]]] = {}
    for place, one in enumerate(runs):
        for aspect, value in one.values.items():
            if (some := places.get(aspect)) is None:
                some = places[aspect] = {}
            if (listed := some.get(value)) is None:
                some[value] = [place]
            else:
                listed.append(place)
    # What fewer runs have is not tested.
    holders = {
        Trait(aspect, value): _bits(held, len(runs))
        for aspect, some in places.items()
        for value, held in some.items()
        if len(held) >= _FEWEST_BAD
    }
    every = (1 << len(runs)) - 1
    # The presence of an aspect with one value alone tells runs apart.
    told = {
        aspect: _bits(itertools.chain.from_iterable(some.values()), len(runs)) if len(some) > 1 else every
        for aspect, some in places.items()
    }
    bad = _bits((place for place, one in enumerate(runs) if one.bad), len(runs))
    good = every & ~bad
    groups: dict[tuple[int, int], list[Trait]] = {}
    for trait, held in holders.items():
        if (held & bad).bit_count() >= _FEWEST_BAD:
            groups.setdefault((held, told[trait.aspect]), []).append(trait)
    tested = len(groups)
    findings: list[Finding] = []
    left = bad
    while groups and left and len(findings) < _MOST_FINDINGS:
        least = max(_FEWEST_BAD, min(_ENOUGH, _SHARE * left.bit_count()))
        best = min(
            (
                (_chance(held & left, held & good, known & left, known & good), held, known)
                for held, known in groups
                if (held & left).bit_count() >= least
            ),
            key=lambda one: (one[0], -(one[1] & left).bit_count(), one[1]),
            default=None,
        )
        if best is None or best[0] * tested >= SURE:
            break
        chance, held, known = best
        traits = sorted(groups.pop((held, known)), key=lambda trait: (trait.aspect, trait.value))
        findings.append(
            _finding(traits, held & left, held & good, known & left, known & good, min(1.0, chance * tested))
        )
        left &= ~held
    return Shared(findings, tested, left.bit_count())


def _bits(places: Iterable[int], count: int) -> int:
    """Return a number with the bits of these places of `count`."""
    digits = bytearray(b"0") * (count + 1)
    for place in places:
        digits[-place - 1] = _ONE
    return int(digits, 2)


def _finding(
    traits: list[Trait], bad_held: int, good_held: int, bad_told: int, good_told: int, chance: float
) -> Finding:
    one, two = bad_held.bit_count(), good_held.bit_count()
    three, four = bad_told.bit_count() - one, good_told.bit_count() - two
    odds = math.log((one + 0.5) * (four + 0.5) / ((two + 0.5) * (three + 0.5)))
    spread = _NORMAL * math.sqrt(sum(1 / (count + 0.5) for count in (one, two, three, four)))
    rate = three / (three + four) if three + four else 0.0
    return Finding(
        traits=traits, bad_with=one, good_with=two, bad_without=three, good_without=four, lift=round(one / (one + two) / rate, 2) if rate else None,
        low=round(math.exp(odds - spread), 2), high=round(math.exp(min(60.0, odds + spread)), 2), chance=chance,
    )  # fmt: skip


def _chance(bad_held: int, good_held: int, bad_told: int, good_told: int) -> float:
    """Return the probability that at least so many bad runs have the trait by chance, of the runs that report the aspect (hypergeometric)."""
    hits, held = bad_held.bit_count(), bad_held.bit_count() + good_held.bit_count()
    bad, total = bad_told.bit_count(), bad_told.bit_count() + good_told.bit_count()
    if hits * total <= held * bad:
        return 1.0
    base = _log_choose(total, held)
    return math.fsum(
        math.exp(_log_choose(bad, each) + _log_choose(total - bad, held - each) - base)
        for each in range(hits, min(held, bad) + 1)
        if held - each <= total - bad
    )


def _log_choose(many: int, few: int) -> float:
    return math.lgamma(many + 1) - math.lgamma(few + 1) - math.lgamma(many - few + 1)
