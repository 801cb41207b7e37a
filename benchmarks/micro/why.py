"""The rates of `headwater why` over histories with planted causes: how often the plant is first, a cause is named, a wrong one is, and a
change is called a coincidence.

    python benchmarks/micro/why.py [--seeds 1000] [--first 50000]

The generator is tests/unit/model/run_histories.py; give `--first` a number that no earlier run took, and the seeds are fresh. Exits with 1 if a plant
of full effect is first in less than 95 %, or a cause is named in more than 5 % of the histories without a plant.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.unit.model.run_histories import draw_history

from headwater.model.causes import rank

FULL: dict[str, Any] = {"effect": 1.0}
KINDS: dict[str, dict[str, Any]] = {
    "every run with the plant fails": FULL,
    "two plants, one after the other": FULL | {"causes": 2},
    **{f"{share} % of the runs with it fail": {"effect": share / 100} for share in (70, 50, 30, 20, 10)},
    "all fail, 10 % of the facets are missing": FULL | {"missing": 0.1},
    "all fail, 30 % of the facets are missing": FULL | {"missing": 0.3},
    **{f"no plant, {share} % fail by chance": FULL | {"causes": 0, "chance": share / 100} for share in (2, 10, 30)},
    "no plant, all fail for what no run reports": FULL | {"causes": 0, "unrecorded": True},
}


class Rates(NamedTuple):
    """Percentages of the seeds. `first`: the plant is in the first group, of changes that no run tells apart; `listed`: it is the first of that
    group; `alone`: and there is no other. `named`: a cause is; `wrong`: and it is not the plant. `coinciding`: a change that came at the same time is
    shown, as a suspicion."""

    first: float
    listed: float
    alone: float
    named: float
    wrong: float
    coinciding: float


def measured(seeds: range, given: dict[str, Any]) -> Rates:
    first = listed = alone = named = wrong = coinciding = 0
    for seed in seeds:
        history = draw_history(seed, **given)
        ranking = rank(history.runs)
        causes = ranking.suspects[0].causes if ranking.suspects else []
        is_first = any(cause.aspect in history.planted for cause in causes)
        first += is_first
        listed += is_first and causes[0].aspect in history.planted
        alone += is_first and len(causes) == 1
        named += ranking.named is not None
        wrong += ranking.named is not None and not is_first
        coinciding += ranking.coinciding is not None
    return Rates(*(100 * count / len(seeds) for count in (first, listed, alone, named, wrong, coinciding)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=50_000)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    began, missed = time.perf_counter(), []
    columns = "the plant is first | listed first | alone | a cause is named | a wrong one is | a suspicion is"
    print(f"| histories, seeds {seeds.start:,} to {seeds.stop - 1:,} | {columns} |")
    print("|---|---|---|---|---|---|---|")
    for words, kind in KINDS.items():
        rates = measured(seeds, kind)
        planted = kind.get("causes", 1) > 0
        shown = [f"{rate:.1f} %" for rate in rates[:3]] if planted else [""] * 3
        print(
            f"| {words} | {' | '.join(shown)} | {rates.named:.1f} % | {rates.wrong:.1f} % | {rates.coinciding:.1f} % |",
            flush=True,
        )
        if (rates.named > 5) if not planted else kind in (FULL, FULL | {"causes": 2}) and rates.first < 95:
            missed.append(words)
    print(f"{time.perf_counter() - began:,.0f} s; missed: {', '.join(missed) or 'none'}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
