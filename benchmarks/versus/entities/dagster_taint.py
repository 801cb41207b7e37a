"""The wrong instances of 1,000 assets after a fragmented set: Headwater's `tainted` beside Dagster's propagation of subsets, in one run.

    python benchmarks/versus/entities/dagster_taint.py [--assets 1000] [--starts same|own] [--rounds 5]

60 % hourly, 30 % daily, 10 % weekly, up to two parents each, never finer from coarser, three years; wrong is every sixth hour of the first asset.
The same random graph in both. Dagster's figure is its mappings and unions alone, once: no instance, event log or backfill. Headwater's is `tainted`
whole, depths and witnesses with it, first and median. `--starts own`: every asset begins on another day, so that few sets are equal; what Headwater
gains by following equal sets once is then gone; Dagster, whose shortest way is for equal starts too, then takes as long for a tenth of the assets.
The exit code is 1 where the sets found are not the same for every asset, or the ratio is less than 100.
"""

import argparse
import hashlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

from environments import asked

from headwater.entities.needs.graph import Dependency, Entity, Graph
from headwater.entities.needs.kinds import TimeSeries
from headwater.entities.status.taint import Hit, tainted
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.instances import Instances
from headwater.entities.time.ordinals import Ordinals

GRAINS = {"hour": 60, "day": 30, "week": 10}
HOUR, DAY = 3_600, 86_400
START = 1_641_772_800  # Monday 10 January 2022
END = START + 1_096 * DAY


def drawn(count: int, starts: str) -> dict[str, Any]:
    """The case, always the same one for the same arguments. The last week is not over at the end and is no partition of either."""
    chance = random.Random(7)
    grains = list(GRAINS)
    assets: list[tuple[str, int, list[int]]] = []
    for number in range(count):
        grain = chance.choices(grains, list(GRAINS.values()))[0] if number else "hour"
        fine = [other for other, (of, _, _) in enumerate(assets) if grains.index(of) <= grains.index(grain)]
        start = START + (chance.randrange(365) * DAY if starts == "own" and number else 0)
        assets.append((grain, start, chance.sample(fine, min(chance.randrange(1, 3), len(fine)))))
    return {"assets": assets, "end": END, "root": list(range(START, END, 6 * HOUR))}


def graph_of(case: dict[str, Any]) -> Graph:
    made = []
    for number, (grain, start, parents) in enumerate(case["assets"]):
        calendar = Calendar.every(grain)
        within = calendar.within(start, case["end"])
        needs = tuple(Dependency(f"asset_{parent}") for parent in parents)
        made.append(
            Entity(f"asset_{number}", TimeSeries(), Instances(calendar, within.first, within.end), {"completed": needs})
        )
    return Graph(made)


def stretches(graph: Graph, hits: Mapping[str, Hit], name: str) -> str:
    """A hash of when what is wrong is, as peers/dagster_taint.py makes it."""
    period = graph.entities[name].instances
    if name not in hits or period is None:
        return ""
    some = hits[name].instances
    bounds = zip(*(period.calendar.begins(ends).tolist() for ends in (some.starts, some.ends)), strict=True)
    return hashlib.sha256(json.dumps([list(each) for each in bounds]).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assets", type=int, default=1_000)
    parser.add_argument("--starts", choices=["same", "own"], default="same")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="the figures as JSON, not as a table")
    args = parser.parse_args()

    case = drawn(args.assets, args.starts)
    load = os.getloadavg()[0]
    told = asked("dagster", "dagster_taint", case)
    theirs = told["answers"]
    graph = graph_of(case)
    hours = Calendar.every("hour")
    root = {"asset_0": Ordinals.of([hours.at(at) for at in case["root"]])}
    taken: list[tuple[float, float]] = []
    for _ in range(args.rounds + 1):
        began, cpu = time.perf_counter(), time.process_time()
        hits = tainted(graph, root).hits
        taken.append((time.perf_counter() - began, time.process_time() - cpu))
    counts = [hits[name].instances.count if (name := f"asset_{number}") in hits else 0 for number in range(args.assets)]
    median, median_cpu = (statistics.median(column) for column in zip(*taken[1:], strict=True))
    sets = [stretches(graph, hits, f"asset_{number}") for number in range(args.assets)]
    ours, other = list(zip(counts, sets, strict=True)), list(zip(theirs["counts"], theirs["sets"], strict=True))
    differing = [number for number in range(args.assets) if ours[number] != other[number]]
    figures = {
        "assets": args.assets,
        "starts": args.starts,
        "version": told["version"],
        "dagster": theirs["seconds"],
        "dagster_cpu": theirs["cpu"],
        "first": taken[0][0],
        "median": median,
        "median_cpu": median_cpu,
        "ratio": theirs["seconds"] / median,
        "ratio_cpu": theirs["cpu"] / median_cpu,
        "ratio_first": theirs["seconds"] / taken[0][0],
        "wrong": sum(counts),
        "reached": sum(map(bool, counts)),
        "differing": differing,
        "load": load,
    }
    print(json.dumps(figures) if args.json else told_as_table(figures), flush=True)
    return int(bool(differing) or figures["ratio"] < 100)


def told_as_table(figures: dict[str, Any]) -> str:
    same = f"the same of all {figures['assets']:,} assets"
    if figures["differing"]:
        same = f"another set of {len(figures['differing'])} assets: {figures['differing'][:10]}"
    return (
        f"{figures['assets']:,} assets, starts {figures['starts']}, every sixth hour of three years wrong: {figures['wrong']:,} instances of "
        f"{figures['reached']:,} assets; {same}. Load before it: {figures['load']:.1f}\n\n"
        "| | wall clock | processor |\n|---|---|---|\n"
        f"| Dagster {figures['version']} | {figures['dagster']:.1f} s | {figures['dagster_cpu']:.1f} s |\n"
        f"| Headwater, median | {figures['median']:.4f} s | {figures['median_cpu']:.4f} s |\n"
        f"| Headwater, the first time | {figures['first']:.3f} s | |\n"
        f"| so many times faster | {figures['ratio']:,.0f} (first {figures['ratio_first']:,.0f}) | {figures['ratio_cpu']:,.0f} |\n"
    )


if __name__ == "__main__":
    sys.exit(main())
