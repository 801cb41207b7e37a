"""Fixtures for tests about events of some hours ago."""

import datetime as dt

import pytest


@pytest.fixture(autouse=True)
def _now(request: pytest.FixtureRequest) -> None:
    """A module's NOW is when its test begins, not when the suite was collected."""
    if hasattr(request.module, "NOW"):
        request.module.NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
