"""Spark sessions for the tests of the flights example, and its data after a repair."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from flights_example import EXAMPLE
from tests.fixtures.demo import Demo
from tests.fixtures.machine import HEADWATER


@pytest.fixture(scope="session")
def spark_is_local() -> None:
    """Sessions that the example's scripts start for themselves are small and quiet."""
    pytest.importorskip("pyspark")
    configuration = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        "spark.ui.showConsoleProgress": "false",
    }
    options = " ".join(f"--conf {key}={value}" for key, value in configuration.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[2] --driver-memory 2g {options} pyspark-shell"


@pytest.fixture(scope="module")
def spark(spark_is_local: None) -> Iterator[Any]:
    """One session for the tests of a module."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def repaired(demo: Demo) -> str:
    """Tell the story of wrong weather, and return its output. It ends with the rows of before."""
    story = [sys.executable, str(EXAMPLE / "repair.py"), "--data", str(demo.data)]
    done = subprocess.run(
        [*HEADWATER, "jvm", "--", *story],
        env=demo.env, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout
