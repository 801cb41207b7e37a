"""Rank what may have made runs of one job bad: each change of an aspect is a hypothesis, judged by all runs that are known. Pure.

A hypothesis says that the runs which have a value (or any value first seen since a change) fail at a rate of their own. Its weight is its prior,
the chance that a change of this aspect does harm, times its Bayes factor: how much better it foretells which runs were bad than one rate for all
does. The prior falls with each change of the same aspect that harmed nothing. Beside the hypotheses stand two others: that runs fail by chance, and
that something changed which no run reports. The probabilities of all add up to one, so a cause is named only if it beats them and all other changes.
What no run reports may come with a change that is reported, by coincidence. How often that happens shows in the job's own past: in how many good runs
a change as likely to do harm came, and did none. Where it is often, the change is a suspicion, not a cause.
Rules and measurements: docs/explanation/why.md.
"""

import collections
import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from headwater.model.observation import Aspect, Kind, Observation

SURE = 0.85
"""From this probability on a cause is named, or suspected."""
COINCIDENCE = 0.07
"""A change is no cause if changes as likely to do harm came in a larger share of the earlier runs."""
# How many times better than a change at one time a cause must explain the bad runs, to be no coincidence of that time.
_TELLING = 20.0
# (pseudo-counts of harmful and harmless changes): how often a change of this kind breaks a job, before anything is known of the job.
_HARM: Mapping[Kind, tuple[float, float]] = {
    Kind.CODE: (1.0, 4.0), Kind.SQL: (1.0, 4.0), Kind.SCHEMA: (1.0, 3.0), Kind.ENGINE: (1.0, 4.0), Kind.PACKAGE: (0.2, 4.0),
    Kind.PARAMETER: (0.3, 4.0), Kind.ENVIRONMENT: (0.2, 4.0), Kind.CLUSTER: (0.5, 4.0), Kind.UPSTREAM: (0.5, 4.0), Kind.RENEWED: (0.5, 4.0),
    Kind.VOLUME: (0.5, 2.0), Kind.HOST: (0.2, 4.0), Kind.USER: (0.3, 4.0), Kind.TAG: (0.1, 4.0), Kind.TIME: (0.1, 4.0), Kind.INPUT: (0.1, 4.0),
}  # fmt: skip
# Beta distributions (bad, good) of the share of bad runs: without a cause, and with one.
_USUAL, _HARMED = (0.5, 9.5), (1.0, 0.5)
# The chance, at each run, that something changes which no run reports.
_UNREPORTED = 0.005
# A number is out of the ordinary if it is this many times the most extreme of the other runs, and this many scaled deviations from their median.
_FACTOR, _DEVIATIONS, _SCALE = 1.3, 3.0, 1.4826


class Counts(msgspec.Struct, frozen=True):
    """Runs with the cause and without it; runs that did not report the aspect are in neither."""

    bad_with: int
    good_with: int
    bad_without: int
    good_without: int


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A change that may have made runs bad. `first`: the index of the first run that has it.

    `before`: the value in the latest earlier run that reported one; None if there is none. `harmless`: how often a new value of the same aspect did
    no harm. `probability`: of this cause against all others, chance, and what is not reported.
    """

    aspect: Aspect
    first: int
    before: str | None
    after: str
    counts: Counts
    harmless: int
    probability: float


class Suspects(msgspec.Struct, frozen=True):
    """Causes that came with one run and are in exactly the same runs: no history of runs tells them apart. The likeliest first."""

    causes: list[Cause]
    probability: float


class Ranking(msgspec.Struct, frozen=True):
    """The likeliest first. `by_chance`, `unreported`: the probabilities that none of them is it.

    `coincidence`: of the good runs before the first suspects came, the share in which a change as likely to do harm came, and did none. 0 if the bad
    runs are not just those since a time: then no coincidence explains them.
    """

    suspects: list[Suspects]
    by_chance: float
    unreported: float
    coincidence: float

    @property
    def named(self) -> Suspects | None:
        """The cause, or the few of which one is it, if that is far likelier than everything else together, and hardly a coincidence."""
        first = self._likely
        return first if self.coincidence <= COINCIDENCE else None

    @property
    def coinciding(self) -> Suspects | None:
        """The change that would be the cause, if such changes did not come as often without harm."""
        return self._likely if self.named is None else None

    @property
    def _likely(self) -> Suspects | None:
        return self.suspects[0] if self.suspects and self.suspects[0].probability >= SURE else None


class _Hypothesis(msgspec.Struct):
    aspect: Aspect
    first: int
    before: str | None
    after: str
    counts: Counts
    harmless: int
    weight: float


def rank(runs: Sequence[Observation]) -> Ranking:
    """Rank the causes of the bad runs among runs of one job, oldest first. No run is bad, or all are: nothing is ranked."""
    bad = [one.bad for one in runs]
    if all(bad) or not any(bad):
        return Ranking([], 1.0, 0.0, 0.0)
    found = [one for aspect in _aspects(runs) if (one := _likeliest(_hypotheses(aspect, runs))) is not None]
    found.sort(key=lambda one: (-one.weight, one.aspect))
    unreported = (
        sum(math.exp(_log_factor(_since(bad, place))) for place in range(1, len(bad)) if bad[place]) * _UNREPORTED
    )
    total = 1.0 + unreported + sum(one.weight for one in found)
    causes = [
        Cause(
            aspect=one.aspect, first=one.first, before=one.before, after=one.after, counts=one.counts, harmless=one.harmless,
            probability=one.weight / total,
        )
        for one in found
    ]  # fmt: skip
    groups: dict[tuple[int, Counts], list[Cause]] = {}
    for cause in causes:
        groups.setdefault((cause.first, cause.counts), []).append(cause)
    suspects = [Suspects(group, sum(cause.probability for cause in group)) for group in groups.values()]
    suspects.sort(key=lambda one: -one.probability)
    return Ranking(suspects, 1.0 / total, unreported / total, _coincidence(suspects[0], runs) if suspects else 0.0)


def _coincidence(likeliest: Suspects, runs: Sequence[Observation]) -> float:
    """See Ranking. An aspect that is new in most runs changes nothing."""
    first, counts = likeliest.causes[0].first, likeliest.causes[0].counts
    bad = [one.bad for one in runs]
    if _log_factor(counts) > _log_factor(_since(bad, first)) + math.log(_TELLING):
        return 0.0
    seen: dict[Aspect, set[str]] = {}
    changes: list[tuple[int, Aspect, float]] = []
    for place in range(first):
        for aspect, value in runs[place].values.items():
            values = seen.setdefault(aspect, set())
            if values and value not in values:
                changes.append((place, aspect, _prior(aspect, len(values) - 1)))
            values.add(value)
    harm = [0.0] * first
    for place, aspect, prior in changes:
        if 2 * len(seen[aspect]) <= first:
            harm[place] += prior
    likely = sum(_prior(cause.aspect, cause.harmless) for cause in likeliest.causes) * 0.999
    good = [place for place in range(1, first) if not bad[place]]
    return sum(1 for place in good if harm[place] >= likely) / len(good) if good else 0.0


def _aspects(runs: Sequence[Observation]) -> list[Aspect]:
    """Every aspect that a bad run reports."""
    return sorted({aspect for one in runs if one.bad for aspect in (*one.values, *one.numbers)})


def _likeliest(some: Sequence[_Hypothesis]) -> _Hypothesis | None:
    return max(some, key=lambda one: one.weight, default=None)


def _hypotheses(aspect: Aspect, runs: Sequence[Observation]) -> list[_Hypothesis]:
    told = _filled([(place, value) for place, one in enumerate(runs) if (value := one.values.get(aspect)) is not None])
    if told:
        return _by_value(aspect, runs, _spells(told) if aspect.kind == Kind.RENEWED else told)
    return _by_size(aspect, runs)


def _filled(told: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Add the runs that did not report a value, where the runs before and after them have the same one."""
    found = told[:1]
    for (place, value), (next_place, next_value) in itertools.pairwise(told):
        if value == next_value:
            found += [(between, value) for between in range(place + 1, next_place)]
        found.append((next_place, next_value))
    return found


def _spells(told: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return each unbroken spell of a value other than the usual one as a value of its own, named by its number."""
    usual = collections.Counter(value for _, value in told).most_common(1)[0][0]
    found = []
    spell, last = 0, usual
    for place, value in told:
        spell += value not in {usual, last}
        found.append((place, value if value == usual else f"{value}#{spell}"))
        last = value
    return found


def _by_value(aspect: Aspect, runs: Sequence[Observation], told: Sequence[tuple[int, str]]) -> list[_Hypothesis]:
    """One hypothesis for each value that a bad run has, and one for each change: whatever is new since then."""
    first_seen: dict[str, int] = {}
    with_value: dict[str, list[int]] = {}
    for place, value in told:
        first_seen.setdefault(value, place)
        tally = with_value.setdefault(value, [0, 0])
        tally[runs[place].bad] += 1
    if len(first_seen) < 2:
        return []
    good, bad = (sum(tally[side] for tally in with_value.values()) for side in (0, 1))
    harmless = sum(1 for value, place in first_seen.items() if not runs[place].bad)
    found = []
    since_good = since_bad = 0
    for value in sorted(first_seen, key=first_seen.__getitem__, reverse=True):
        place = first_seen[value]
        good_with, bad_with = with_value[value]
        since_good, since_bad = since_good + good_with, since_bad + bad_with
        kinds = [(bad_with, good_with)]
        if 2 * harmless <= len(told):
            # An aspect that is new in most runs says no more than that time went by.
            kinds.append((since_bad, since_good))
        for some_bad, some_good in dict.fromkeys(kinds):
            counts = Counts(some_bad, some_good, bad - some_bad, good - some_good)
            if some_bad and counts.bad_without + counts.good_without:
                # The value itself, and the first of all, were not changes that did no harm.
                calm = max(0, harmless - 1 - (not runs[place].bad))
                found.append(
                    _Hypothesis(aspect, place, _before(told, place), value, counts, calm, _weight(aspect, counts, calm))
                )
    return found


def _before(told: Sequence[tuple[int, str]], first: int) -> str | None:
    return next((value for place, value in reversed(told) if place < first), None)


def _by_size(aspect: Aspect, runs: Sequence[Observation]) -> list[_Hypothesis]:
    """One hypothesis for each gap in the numbers beyond which they are out of the ordinary, above and below."""
    told = [(place, number) for place, one in enumerate(runs) if (number := one.numbers.get(aspect)) is not None]
    found = []
    for ordered in (sorted(told, key=lambda one: -one[1]), sorted(told, key=lambda one: one[1])):
        for cut in range(1, len(ordered)):
            inside, outside = ordered[:cut], ordered[cut:]
            if _ordinary(inside[-1][1], [number for _, number in outside]):
                continue
            places = {place for place, _ in inside}
            tally = [[0, 0], [0, 0]]
            for place, _ in told:
                tally[place in places][runs[place].bad] += 1
            counts = Counts(tally[1][1], tally[1][0], tally[0][1], tally[0][0])
            if counts.bad_with and counts.good_without:
                first = min(places)
                before = next((f"{number:g}" for place, number in reversed(told) if place < first), None)
                after = f"{dict(told)[first]:g}"
                found.append(_Hypothesis(aspect, first, before, after, counts, 0, _weight(aspect, counts, 0)))
    return found


def _ordinary(number: float, others: Sequence[float]) -> bool:
    """Return whether a number is within what the other runs (sorted, the nearest first) make likely."""
    sizes = [math.log1p(max(0.0, other)) for other in others]
    size, nearest = math.log1p(max(0.0, number)), sizes[0]
    if abs(size - nearest) < math.log(_FACTOR):
        return True
    sizes.sort()
    middle = sizes[len(sizes) // 2]
    spread = sorted(abs(one - middle) for one in sizes)[len(sizes) // 2] * _SCALE
    return abs(size - middle) < _DEVIATIONS * spread


def _weight(aspect: Aspect, counts: Counts, harmless: int) -> float:
    return _prior(aspect, harmless) * math.exp(min(700.0, _log_factor(counts)))


def _prior(aspect: Aspect, harmless: int) -> float:
    """Return how likely a change of the aspect does harm, after so many that did none."""
    harm, calm = _HARM[aspect.kind]
    return harm / (harm + calm + harmless)


def _since(bad: Sequence[bool], place: int) -> Counts:
    with_, without = sum(bad[place:]), sum(bad[:place])
    return Counts(with_, len(bad) - place - with_, without, place - without)


def _log_factor(counts: Counts) -> float:
    """Return the logarithm of the Bayes factor: a rate of bad runs with the cause and one without it, against one rate for all."""
    apart = _evidence(_HARMED, counts.bad_with, counts.good_with) + _evidence(
        _USUAL, counts.bad_without, counts.good_without
    )
    together = _evidence(_USUAL, counts.bad_with + counts.bad_without, counts.good_with + counts.good_without)
    return apart - together


def _evidence(prior: tuple[float, float], bad: int, good: int) -> float:
    """Return the logarithm of the probability of these runs, one after the other, if the share of bad ones is distributed as the prior says."""
    return _log_beta(prior[0] + bad, prior[1] + good) - _log_beta(*prior)


def _log_beta(one: float, two: float) -> float:
    return math.lgamma(one) + math.lgamma(two) - math.lgamma(one + two)
