"""The time to plan the repair of a million instances: 1,000 entities, 60 % hourly, 30 % daily, 10 % weekly, a job for every three.

    python benchmarks/micro/plan.py [--entities 1000] [--rounds 3] [--wrong 1000000] [--every 1]

Wrong is the whole time of the first entities and all that this reaches, as long a time as comes to about `--wrong` instances; `--every 2` takes every
other hour of it, so that sets are thousands of runs. Every item has a run of its own (`--periods 1`). The graph is that of `taint.py`.
"""

import argparse
import random
import statistics
import time
import tracemalloc

from taint import YEARS, drawn

from headwater.entities.needs.graph import Graph
from headwater.entities.plans.plan import Plan, plan
from headwater.entities.plans.runs import Producer
from headwater.entities.plans.schedule import Limits, Usage, estimate
from headwater.entities.status.taint import tainted
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import Ordinals


def producers(graph: Graph, periods: int) -> dict[str, Producer]:
    """A job for every three entities of the same calendar that were declared one after the other; every tenth makes a day of hours in a run."""
    found: dict[str, Producer] = {}
    count: dict[Calendar, int] = {}
    day = Calendar.every("day")
    for name, entity in graph.entities.items():
        assert entity.instances is not None
        own = entity.instances.calendar
        number = count.get(own, 0) // 3
        count[own] = count.get(own, 0) + 1
        runs = day if own.spec.unit == "hour" and number % 10 == 0 else None
        found[name] = Producer(f"{own.spec.unit}_{number}", runs, periods)
    return found


def wrong(graph: Graph, wanted: int, every: int) -> dict[str, Ordinals]:
    """Return the instances that the last hours of the first entity reach, with as many hours as reach about the wanted number."""
    end = Calendar.every("hour").at(YEARS[1])
    hours, found = 24, {}
    while hours < 30_000:
        roots = Ordinals.of(range(end - hours, end, every))
        found = {name: hit.instances for name, hit in tainted(graph, {"entity_0": roots}).hits.items()}
        count = sum(some.count for some in found.values())
        if count >= wanted * 0.98:
            break
        hours = min(int(hours * min(max(wanted / max(count, 1), 1.02), 8)) + 1, 30_000)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--entities", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wrong", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--periods", type=int, default=1)
    asked = parser.parse_args()
    graph = drawn(asked.entities, "mixed", "same")
    some = wrong(graph, asked.wrong, asked.every)
    exist = {name: graph.every(name) for name in graph.entities}
    made_by = producers(graph, asked.periods)
    last = list(some)[len(some) // 2]
    frozen = {"frozen": {last: Ordinals.between(some[last].end - 10, some[last].end)}}

    def planned(**more: object) -> Plan:
        return plan(graph, some, exist=exist, producers=made_by, **more)  # type: ignore[arg-type]

    for name, more in (("nothing frozen", {}), ("10 instances frozen", {"unrepairable": frozen})):
        taken = []
        for _ in range(asked.rounds):
            began = time.perf_counter()
            found = planned(**more)
            taken.append(time.perf_counter() - began)
        tracemalloc.start()
        found = planned(**more)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{name}: {sum(each.count for each in some.values()):,} instances of {len(some):,} entities wrong, "
            f"{sum(found.counts.values()):,} made by {found.count:,} items in {len(found.groups()):,} groups: "
            f"median {statistics.median(taken):.3f} s (first {taken[0]:.3f}), {peak / 2**20:.1f} MB at the peak",
            flush=True,
        )
    chance = random.Random(1)
    tiers = {name: str(chance.randrange(1, 5)) for name in graph.entities if chance.random() < 0.5}
    tiered = planned(tiers=tiers, seconds={producer.name: 60 for producer in made_by.values()})
    processor = time.process_time()
    turns = tiered.turns
    print(
        f"turns by four tiers: {len(turns):,} sets, {time.process_time() - processor:.2f} s of the processor",
        flush=True,
    )
    pages: list[float] = []
    cpu: list[float] = []
    for _ in range(50):
        offset = chance.randrange(max(found.count - 100, 1))
        began, processor = time.perf_counter(), time.process_time()
        found.page(offset, 100)
        pages.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - processor) * 1e3)
    print(
        f"a page of 100: median {statistics.median(pages):.1f} ms, slowest of 50 {max(pages):.1f} ms; of the processor "
        f"{statistics.median(cpu):.1f} and {max(cpu):.1f} ms",
        flush=True,
    )
    began = time.perf_counter()
    told = estimate(found, {producer.name: Usage(60, 300) for producer in made_by.values()}, Limits(total=64))
    print(
        f"estimated in {time.perf_counter() - began:.2f} s: {told.runs:,} runs, {told.compute.p50 / 3600:,.0f} h of compute"
    )


if __name__ == "__main__":
    main()
