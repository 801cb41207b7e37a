"""Dagster's side of `dagster_stale_window.py`, run where Dagster is: materialises, materialises one partition again, asks what is stale.

A case on standard input as JSON: {name: {days, window, changed} | {days, itself, changed} | {chain, changed}}; on standard output {version, answers}.
"""

import datetime as dt
import json
import sys

import dagster
from dagster import (
    AssetDep,
    AssetKey,
    AssetsDefinition,
    BackfillPolicy,
    DagsterInstance,
    DailyPartitionsDefinition,
    Definitions,
    TimeWindowPartitionMapping,
    asset,
    materialize,
)
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

# The tags that ask for a materialisation of all partitions of a range in one run.
RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
FIRST = dt.date(2024, 1, 1)


def made(name: str, days: int, deps: list[AssetDep]) -> AssetsDefinition:
    end = str(FIRST + dt.timedelta(days))

    @asset(
        name=name,
        deps=deps,
        partitions_def=DailyPartitionsDefinition(start_date=str(FIRST), end_date=end) if days else None,
        backfill_policy=BackfillPolicy.single_run() if days else None,
    )
    def _made() -> None:
        return None

    return _made


def materialised(
    instance: DagsterInstance, assets: list[AssetsDefinition], one: AssetsDefinition, days: list[str]
) -> None:
    tags = dict(zip(RANGE, (days[0], days[-1]), strict=True)) if days else {}
    if not materialize(assets, instance=instance, selection=[one], tags=tags).success:
        raise SystemExit(f"{one.key.to_user_string()} was not materialised")


def stale(case: dict) -> list[str]:
    """Return the stale partitions of the last asset for a case with days, otherwise the stale assets."""
    days = [str(FIRST + dt.timedelta(day)) for day in range(case.get("days", 0))]
    if "window" in case:
        window = TimeWindowPartitionMapping(start_offset=1 - case["window"])
        assets = [made("a", len(days), []), made("b", len(days), [AssetDep("a", partition_mapping=window)])]
    elif "itself" in case:
        before = TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
        assets = [made("a", len(days), [AssetDep("a", partition_mapping=before)])]
    else:
        names = case["chain"]
        assets = [made(name, 0, [AssetDep(names[place - 1])] if place else []) for place, name in enumerate(names)]
    with DagsterInstance.ephemeral() as instance:
        # A run for all days; of an asset that needs its day before, one for each, in order.
        for one in assets:
            for some in [[day] for day in days] if "itself" in case else [days]:
                materialised(instance, assets, one, some)
        materialised(instance, assets, assets[0], [case["changed"]] if days else [])
        graph = Definitions(assets).resolve_asset_graph()
        asked = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
        if days:
            return [day for day in days if asked.get_status(assets[-1].key, day) == StaleStatus.STALE]
        return [name for name in case["chain"] if asked.get_status(AssetKey(name)) == StaleStatus.STALE]


def main() -> None:
    cases = json.load(sys.stdin)
    print(json.dumps({"version": dagster.__version__, "answers": {name: stale(case) for name, case in cases.items()}}))


if __name__ == "__main__":
    main()
