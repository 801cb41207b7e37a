"""Dagster's side of `dagster_taint.py`, run where Dagster is: a set of partitions carried over many assets by its own mappings.

{assets: [[grain, start, parents]], end, root} on standard input as JSON, instants as epoch seconds, parents as numbers of assets, `root` the
hours of asset 0 that are wrong; on standard output {version, answers: {seconds, cpu, counts, sets}}, of each set a hash of its stretches of time.

Only what any walk of Dagster's has to do is timed: for each asset, upstream first, the partitions downstream of each parent's subset, united.
No instance, no event log, no backfill. Subsets and definitions that are equal are one object, so that whatever Dagster keeps serves all.
"""

import datetime as dt
import functools
import hashlib
import json
import sys
import time

import dagster
from dagster import (
    DailyPartitionsDefinition,
    HourlyPartitionsDefinition,
    TimeWindowPartitionMapping,
    WeeklyPartitionsDefinition,
)
from dagster._core.definitions.partitions.context import PartitionLoadingContext, partition_loading_context
from dagster._core.definitions.partitions.subset import TimeWindowPartitionsSubset
from dagster._core.definitions.partitions.utils import PersistedTimeWindow
from dagster._core.definitions.temporal_context import TemporalContext
from dagster._core.definitions.timestamp import TimestampWithTimezone


@functools.cache
def partitions(grain: str, start: int, end: int):
    first, last = (dt.datetime.fromtimestamp(at, dt.UTC) for at in (start, end))
    if grain == "hour":
        return HourlyPartitionsDefinition(start_date=first, end_date=last)
    if grain == "day":
        return DailyPartitionsDefinition(start_date=first, end_date=last)
    return WeeklyPartitionsDefinition(start_date=first, end_date=last, day_offset=1)


def stretches(subset: TimeWindowPartitionsSubset) -> str:
    """Return a digest of the wrong times, whatever windows they are kept in."""
    merged: list[list[int]] = []
    for start, end in sorted(
        (int(window.start_timestamp), int(window.end_timestamp)) for window in subset.included_time_windows
    ):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return hashlib.sha256(json.dumps(merged).encode()).hexdigest()


def main() -> None:
    case = json.load(sys.stdin)
    definitions = [partitions(grain, start, case["end"]) for grain, start, _ in case["assets"]]
    hours = definitions[0]
    windows = [
        PersistedTimeWindow(TimestampWithTimezone(at, "UTC"), TimestampWithTimezone(at + 3600, "UTC"))
        for at in case["root"]
    ]
    root = TimeWindowPartitionsSubset(hours, num_partitions=len(windows), included_time_windows=windows)
    mapping = TimeWindowPartitionMapping()
    now = TemporalContext(effective_dt=dt.datetime.fromtimestamp(case["end"], dt.UTC), last_event_id=None)
    found = {0: root}
    began, cpu = time.perf_counter(), time.process_time()
    with partition_loading_context(
        new_ctx=PartitionLoadingContext(temporal_context=now, dynamic_partitions_store=None)
    ):
        for number, (_, _, parents) in enumerate(case["assets"]):
            for parent in parents:
                if parent not in found:
                    continue
                downstream = mapping.get_downstream_partitions_for_partitions(
                    found[parent], definitions[parent], definitions[number]
                )
                if not downstream.is_empty:
                    found[number] = found[number] | downstream if number in found else downstream
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        counts = [len(found[number]) if number in found else 0 for number in range(len(definitions))]
    sets = [stretches(found[number]) if number in found else "" for number in range(len(definitions))]
    answers = {"seconds": seconds, "cpu": cpu, "counts": counts, "sets": sets}
    print(json.dumps({"version": dagster.__version__, "answers": answers}))


if __name__ == "__main__":
    main()
