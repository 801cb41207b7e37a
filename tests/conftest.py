"""Fixtures by subject; see tests/fixtures/."""

import functools
import os
import sys

import pytest
import typer.testing
from hypothesis import settings

from tests.scale import FULL, full

pytest_plugins = [
    "tests.fixtures.postgres",
    "tests.fixtures.app",
    "tests.fixtures.servers",
    "tests.fixtures.identity",
    "tests.fixtures.processes",
    "tests.fixtures.people",
    "tests.fixtures.served",
    "tests.fixtures.rabbitmq",
    "tests.fixtures.queues",
    "tests.fixtures.pipeline",
    "tests.fixtures.query_logs",
    "tests.fixtures.airflow",
    "tests.fixtures.demo",
]

# Receivers of tests are on this machine.
os.environ.setdefault("HEADWATER_LISTENERS__ALLOWED_NETWORKS", "127.0.0.0/8")

# No test makes a key in the home of whoever runs it.
os.environ.setdefault("HEADWATER_ACCESS__SECRET_KEY", "the key of secrets in all tests.")

# Spark's Python workers are this interpreter, whatever `python3` the path has.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# `CliRunner` reads the options of 150 commands for each call; they are the same each time.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# No test asserts a time, whatever else the machine does.
# One commit gives one answer. `HYPOTHESIS_PROFILE=drawn pytest …` looks for what these examples do not show.
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=full(100, 20))
settings.register_profile("drawn", deadline=None, max_examples=full(1000, 100))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to `make soak` what is marked for it; `SUITE_SCALE=full pytest …` takes it too."""
    if FULL:
        return
    left = [item for item in items if item.get_closest_marker("soak")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
