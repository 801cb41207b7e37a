"""Spark sessions for the tests of the flights example, and a way to run its packages as their `dk.yaml` says."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flights_example import load, package, statements


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
def run_package(spark_is_local: None) -> Callable[[str, Path], None]:
    """Run one package as its `dk.yaml` says, in this process, with all data below the given folder."""
    from pyspark.sql import SparkSession

    def run(folder: str, data: Path) -> None:
        settings = package(folder, data)["run"]
        if settings["kind"] == "sql":
            session = SparkSession.builder.getOrCreate()
            for statement in statements(settings["sql"]):
                session.sql(statement)
            session.stop()
        else:
            load(folder, Path(settings["script"]).stem).main(settings["args"])

    return run
