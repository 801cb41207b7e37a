"""A Spark session for the oracles: its own, or a new one beside that of tests that came first."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.oracle.session import start


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()  # other tests' own, when they came first
    spark = running.newSession() if running else start(tmp_path_factory.mktemp("oracle"))
    yield spark
    if running:
        spark._jvm.SparkSession.setActiveSession(running._jsparkSession)
    else:
        spark.stop()
