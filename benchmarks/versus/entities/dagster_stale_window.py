"""An input was made again: which partitions are out of date? Dagster looks one step far, and not at all where there are 100 partitions or more.

    python benchmarks/versus/entities/dagster_stale_window.py

Its stale status leaves out a dependency on 100 upstream partitions or more, and that of an asset on itself where it has 100 or more; what is left
out counts as FRESH. An asset that is stale only because its input is, is FRESH too, by design: the input has not been made again yet.
"""

import datetime as dt
import itertools
import sys
from typing import Any

from demo import Answers, Demo, run

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import Sliding, Static, TimeSeries
from headwater.entities.status.taint import tainted
from headwater.entities.time import keys
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

FIRST = dt.date(2024, 1, 1)
CASE: dict[str, dict[str, Any]] = {
    "a window of 99 days": {"days": 150, "window": 99, "changed": "2024-04-10"},
    "a window of 100 days": {"days": 150, "window": 100, "changed": "2024-04-10"},
    "a window of 120 days": {"days": 150, "window": 120, "changed": "2024-04-10"},
    "50 days, each from the one before": {"days": 50, "itself": True, "changed": "2024-01-11"},
    "110 days, each from the one before": {"days": 110, "itself": True, "changed": "2024-01-11"},
    "a → b → c, a made again": {"chain": ["a", "b", "c"], "changed": "a"},
}


def truth() -> Answers:
    """Return the outputs that would come out differently, found one after the other."""
    found = {}
    for name, case in CASE.items():
        wrong = [case["changed"]]
        if "window" in case:
            days = [FIRST + dt.timedelta(day) for day in range(case["days"])]
            for day in days:
                read = {str(day - dt.timedelta(back)) for back in range(case["window"])}
                if case["changed"] in read:
                    wrong.append(str(day))
        else:
            every = case.get("chain") or [str(FIRST + dt.timedelta(day)) for day in range(case["days"])]
            for before, after in itertools.pairwise(every):
                if before in wrong:
                    wrong.append(after)
        found[name] = wrong[1:]
    return found


def headwater() -> Answers:
    return {name: _chain(case) if "chain" in case else _days(case) for name, case in CASE.items()}


def _days(case: dict[str, Any]) -> list[str]:
    end = FIRST + dt.timedelta(case["days"])
    period = Instances.of({"every": "day", "from": str(FIRST), "until": str(end)})
    if "window" in case:
        b = Entity("b", Sliding(f"{case['window']} days"), period, {"completed": (Dependency("a"),)})
        graph, asked = Graph([Entity("a", TimeSeries(), period), b]), "b"
    else:
        itself = Dependency("a", Dates.of("previous"))
        graph, asked = Graph([Entity("a", TimeSeries(), period, {"completed": (itself,)})]), "a"
    changed = keys.ordinal(period.calendar, case["changed"])
    root = Ordinals.between(changed, changed + 1)
    wrong = tainted(graph, {"a": root}).hits[asked].instances
    # The partition that was made again is right.
    others = wrong - root if asked == "a" else wrong
    return [keys.key(period.calendar, ordinal) for ordinal in others.members().tolist()]


def _chain(case: dict[str, Any]) -> list[str]:
    """Assets without partitions have versions, not periods."""
    names = case["chain"]
    needs = [(), *(({"completed": (Dependency(before),)}) for before in names[:-1])]
    graph = Graph([Entity(name, Static(), None, dict(need)) for name, need in zip(names, needs, strict=True)])
    hits = tainted(graph, {case["changed"]: Ordinals.between(0, 1)}).hits
    return [name for name in hits if name != case["changed"]]


DEMO = Demo(
    "dagster_stale_window",
    "dagster",
    "One partition is made again: which others are out of date?",
    CASE,
    truth,
    headwater,
    lambda answers: answers,
)

if __name__ == "__main__":
    sys.exit(run(DEMO))
