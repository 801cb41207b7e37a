"""Spark sessions for the tests of the flights example."""

import os
from collections.abc import Iterator
from typing import Any

import pytest


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
