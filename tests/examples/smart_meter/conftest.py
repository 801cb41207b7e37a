"""The example's modules by their names, and a Spark session for the tests of its transformations."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/smart_meter"
sys.path.insert(0, str(EXAMPLE))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    os.environ["PYSPARK_SUBMIT_ARGS"] = "--master local[2] --driver-memory 1g pyspark-shell"
    from flow import CONFIGURATION
    from pyspark.sql import SparkSession

    quick = {
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    session = SparkSession.builder.config(map=CONFIGURATION | quick).getOrCreate()
    for module in ("forecasting.py", "station_weather.py"):
        session.sparkContext.addPyFile(str(EXAMPLE / module))
    yield session
    session.stop()
