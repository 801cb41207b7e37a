"""Fixtures by subject; see tests/fixtures/."""

pytest_plugins = ["tests.fixtures.postgres", "tests.fixtures.app"]
