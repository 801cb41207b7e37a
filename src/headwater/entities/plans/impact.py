"""Compute the effect of a run that failed or produced wrong instances: which runs to clear and which to start, job by job.

    impact(graph, {"airflow://prod/load/reads": hours}, mode="failed", …)

Periods are converted on the way: three hours that failed are a day's run and a week's. Several jobs, such as the tasks of one DAG run, get one
plan: each run is in it once, in order. The caller passes the existing runs; this module clears and starts nothing.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from headwater.entities.needs.graph import Graph
from headwater.entities.plans.plan import Plan, Sets, plan
from headwater.entities.plans.runs import Producer, producer_runs
from headwater.entities.status.taint import Facts, Reached, tainted
from headwater.entities.time.calendar import Calendar
from headwater.entities.time.ordinals import NONE, Ordinals
from headwater.errors import InvalidPlan


class Runs(NamedTuple):
    """Runs of one producer: periods of `calendar` (None for what has none). makes: what is expected of them, by entity.

    Why an instance is among it: `Impact.reached.why(entity, ordinal)`.
    """

    producer: str
    calendar: Calendar | None
    runs: Ordinals
    makes: Sets


class Impact(NamedTuple):
    """clear: existing runs to repeat; start: runs that do not exist yet. Both are in order of execution; a producer
    appears twice in one of them if another comes in between. The runs in question are included.

    plan: the whole, with what must be done by hand or is restored. reached: what depends on the runs, with depths and paths.
    """

    clear: tuple[Runs, ...]
    start: tuple[Runs, ...]
    plan: Plan
    reached: Reached


def impact(
    graph: Graph,
    runs: Mapping[str, Ordinals],
    *,
    mode: Literal["failed", "wrong"],
    producers: Mapping[str, Producer],
    exist: Sets,
    existing: Mapping[str, Ordinals],
    due: Sets | None = None,
    unrepairable: Mapping[str, Sets] | None = None,
    restorable: Sets | None = None,
    snapshots: Mapping[str, Literal["latest", "all"] | int] | None = None,
) -> Impact:
    """Compute the impact of `runs`: by producer, periods of its calendar (of its entities' calendar if it has none).

    mode: `wrong`: what they made is wrong, and so is everything that exists and used it. `failed`: what they should
    have made is missing or not right; then also what depends on it and is `due`, whether it exists or not: runs that
    waited for it have not run yet.
    exist: existing instances; existing: existing runs, by producer. due: instances that exist or should exist by now;
    default: those that exist. The other arguments are those of `plan`.

    InvalidPlan if a producer makes nothing that is known, or if runs of a producer without a calendar would be of
    several.
    """
    mine = {name: each for name, each in producers.items() if each.name in runs and name in graph.entities}
    for producer in runs.keys() - {each.name for each in mine.values()}:
        known = sorted({each.name for each in producers.values()})
        raise InvalidPlan(
            f"no entity is made by {producer!r}; known are {', '.join(known) or 'none'}", producer=producer
        )
    asked = (
        exist
        if mode == "wrong" or due is None
        else {name: exist.get(name, NONE) | due.get(name, NONE) for name in {*exist, *due}}
    )
    _check_calendars(graph, producers)
    roots = {}
    for name, each in mine.items():
        some = producer_runs(graph.entities[name], each).instances(runs[each.name], asked.get(name, NONE))
        if some:
            roots[name] = some
    reached = tainted(graph, roots, Facts(exist=lambda name: asked.get(name, NONE)))
    found = plan(
        graph,
        {name: hit.instances for name, hit in reached.hits.items()},
        exist=exist,
        roots=roots,
        producers=producers,
        unrepairable=unrepairable,
        restorable=restorable,
        snapshots=snapshots,
    )
    clear: list[Runs] = []
    start: list[Runs] = []
    for stage in found.stages:
        for block in stage.blocks:
            if block.action != "rerun" or block.producer is None:
                continue
            there = existing.get(block.producer.name, NONE)
            calendar = next(iter(block.made.values())).calendar
            for some, into in ((block.runs & there, clear), (block.runs - there, start)):
                if some:
                    into.append(Runs(block.producer.name, calendar, some, block.makes(some)))
    return Impact(tuple(clear), tuple(start), found, reached)


def _check_calendars(graph: Graph, producers: Mapping[str, Producer]) -> None:
    known: dict[str, tuple[str, Calendar | None]] = {}
    for name, producer in producers.items():
        if name not in graph.entities:
            continue
        calendar = producer_runs(graph.entities[name], producer).calendar
        other, first = known.setdefault(producer.name, (name, calendar))
        if calendar != first:
            raise InvalidPlan(
                f"{producer.name} has runs of {first} for {other} and of {calendar} for {name}: say its calendar",
                producer=producer.name,
            )
