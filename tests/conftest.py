"""Fixtures by subject; see tests/fixtures/."""

import datetime as dt
import os
import sys

import pytest

pytest_plugins = [
    "tests.fixtures.postgres",
    "tests.fixtures.app",
    "tests.fixtures.servers",
    "tests.fixtures.identity",
    "tests.fixtures.processes",
    "tests.fixtures.people",
    "tests.fixtures.served",
]

# Spark's Python workers are this interpreter, whatever `python3` the path has.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(autouse=True)
def _now(request: pytest.FixtureRequest) -> None:
    """A module's NOW is when its test begins, not when the suite was collected."""
    if hasattr(request.module, "NOW"):
        request.module.NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
