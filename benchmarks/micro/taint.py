"""The time to find the wrong instances across many entities: 10,000 of them, three years, 60 % hourly, 30 % daily, 10 % weekly.

    python benchmarks/micro/taint.py [--entities 10000] [--rounds 5] [--dates same|mixed] [--starts same|own]

Every entity needs at most two earlier ones, never finer from coarser. Wrong is, of the first hourly entity, once 10 hours in a row and once every
other hour of the three years. `--dates mixed`: a third of the links are windows of some days or go back; `--starts own`: every entity begins on
another day. A walk knows nothing from the one before but the maps between two calendars, which the first one makes: it is printed by itself.
"""

import argparse
import random
import statistics
import time
import tracemalloc

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.status.taint import Reached, tainted
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.dates import Dates
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

EVERY = {"hour": 60, "day": 30, "week": 10}
MIXED = ["last 2 days", "last 7 days", "all_week", "previous", "-1w", "last 30 days", "from -3d to -1d"]
YEARS = (1_641_772_800, 1_641_772_800 + 1_096 * 86_400)  # from Monday 10 January 2022
HOUR, DAY = 3_600, 86_400


def drawn(count: int, dates: str, starts: str) -> Graph:
    """Always the same one for the same arguments."""
    chance = random.Random(7)
    order = list(EVERY)
    made: list[Entity] = []
    by_grain: dict[str, list[str]] = {every: [] for every in EVERY}
    for number in range(count):
        every = "hour" if number == 0 else chance.choices(order, list(EVERY.values()))[0]
        fine = [name for grain in order[: order.index(every) + 1] for name in by_grain[grain]]
        needs = tuple(
            Dependency(name, Dates.of(chance.choice(MIXED) if dates == "mixed" and chance.random() < 1 / 3 else "same"))
            for name in chance.sample(fine, min(2, len(fine)))
        )
        calendar = Calendar.every(every)
        start = YEARS[0] + (chance.randrange(365) * DAY if starts == "own" else 0)
        within = calendar.within(start, YEARS[1])
        name = f"entity_{number}"
        made.append(Entity(name, TimeSeries(), Instances(calendar, within.first, within.end), {"completed": needs}))
        by_grain[every].append(name)
    return Graph(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dates", choices=["same", "mixed"], default="same")
    parser.add_argument("--starts", choices=["same", "own"], default="same")
    asked = parser.parse_args()

    began = time.perf_counter()
    graph = drawn(asked.entities, asked.dates, asked.starts)
    links = sum(len(graph.upstream(name)) for name in graph.entities)
    instances = sum(entity.instances.all.count for entity in graph.entities.values() if entity.instances)
    print(
        f"{asked.entities:,} entities, {links:,} links, {instances / 1e6:.0f} million instances: drawn and checked in "
        f"{time.perf_counter() - began:.2f} s",
        flush=True,
    )
    hours = Calendar.every("hour")
    middle = hours.at(sum(YEARS) // 2)
    first, end = hours.at(YEARS[0]), hours.at(YEARS[1])
    for name, wrong in (
        ("10 hours in a row", Ordinals.between(middle, middle + 10)),
        ("every other hour", Ordinals.of(range(first, end, 2))),
    ):
        taken: list[float] = []
        cpu: list[float] = []
        for turn in range(asked.rounds + 1):
            began, processor = time.perf_counter(), time.process_time()
            found = tainted(graph, {"entity_0": wrong})
            taken.append(time.perf_counter() - began)
            cpu.append(time.process_time() - processor)
            which = f"round {turn}" if turn else "first"
            print(f"  {name}, {which}: {taken[-1]:.3f} s, of the processor {cpu[-1]:.3f}", flush=True)
        tracemalloc.start()
        found = tainted(graph, {"entity_0": wrong})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(told(name, found, taken, cpu, peak), flush=True)


def told(name: str, found: Reached, taken: list[float], cpu: list[float], peak: int) -> str:
    sets = {id(hit.instances): hit.instances.runs for hit in found.hits.values()}
    wall, processor = (statistics.median(each[1:]) for each in (taken, cpu))
    return (
        f"{name}: median {wall:.3f} s (first {taken[0]:.3f}), of the processor {processor:.3f} s, {peak / 2**20:.1f} MiB more at the peak; "
        f"{len(found.hits):,} entities, {sum(hit.instances.count for hit in found.hits.values()) / 1e6:.2f} million instances, "
        f"{len(sets):,} different sets, {sum(sets.values()):,} runs"
    )


if __name__ == "__main__":
    main()
