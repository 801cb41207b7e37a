"""The whole story in one command: an export is imported, imported again, corrected and forced.

    python flow.py --meters 50 --days 30 --start 2013-10-14

1. `first`: all files are new.
2. `again`: the same files once more; their fingerprints are known, so nothing is done.
3. `corrected`: the operator delivers one file anew. Only its series, and what was made of them, are made again.
4. `forced`: a known file is imported although it is known, and that is on record.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from importing import NAMESPACE, VERSION, Import, Imported
from meter_export import FAULTY_FILE, Export, add_size, generate, size
from places import Places
from station_weather import station_file

import headwater
from headwater.capture.spark import attach
from headwater.client import Emitter, emitter_from_environment

HERE = Path(__file__).parent
STAGES = ("first", "again", "corrected", "forced")
FORCED_FILE = 1
CONFIGURATION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    # Listing many folders is one small job with a few tasks, not one with a task a folder.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
}


@cache
def emitter() -> Emitter:
    """One for the steps and for what Spark does."""
    made = emitter_from_environment()
    headwater.use(made)
    return made


@cache
def session() -> Any:
    """One Spark session for the flow, begun when it is first needed; what it does in a step is recorded as the step's."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName(NAMESPACE).config(map=CONFIGURATION).getOrCreate()
    for module in ("forecasting.py", "station_weather.py"):
        spark.sparkContext.addPyFile(str(HERE / module))
    attach(spark, emitter=emitter())
    return spark


def stage(name: str, places: Places, export: Export) -> Imported:
    """Deliver what the stage delivers, and import it."""
    forced: frozenset[str] = frozenset()
    if name == "first":
        generate(places.outgoing, export)
    elif name == "corrected":
        generate(places.outgoing, export, only={FAULTY_FILE}, corrected=True)
    elif name == "forced":
        forced = frozenset({export.name(FORCED_FILE)})
    return Import(places, station_file(), session, forced).run()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where everything is kept")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--json", action="store_true", help="what happened, as JSON, in the last line")
    add_size(parser)
    arguments = parser.parse_args(argv)
    places, export = Places(arguments.data.resolve()), size(arguments)

    emitter()
    told: dict[str, Any] = {}
    with headwater.step("flow", namespace=NAMESPACE, version=VERSION, details=asdict(export)):
        for name in arguments.stages:
            began = time.monotonic()
            done = stage(name, places, export)
            told[name] = asdict(done)
            print(
                f"{name}: {len(done.split)} files imported, {len(done.skipped)} known already; {done.series} series, "
                f"{done.points} delivery points, {len(done.published)} forecasts ({time.monotonic() - began:.1f} s)",
                flush=True,
            )
    published = sorted(places.warehouse.glob("*/*.parquet"))
    print(f"\nWhere a forecast comes from:\n  headwater lineage {published[0]} --upstream")
    if arguments.json:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
