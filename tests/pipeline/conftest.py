"""The tables that one log ends as, for all tests that must end the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.query_logs import bigquery_jobs, json_lines

from headwater.client import output

CUT = '{"job_id": "cut'


@pytest.fixture(autouse=True)
def told_by_itself() -> Iterator[None]:
    """Each test tells of its runs where its own environment says, whatever a test before it began with."""
    before = output.use(None)
    try:
        yield
    finally:
        output.use(before)


@pytest.fixture(scope="session")
def plain_tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The tables of `bigquery_log` when all of it is one file and one batch, on `local[2]`, and nothing goes wrong."""
    from tests.pipeline.test_query_log_sync import synced, tables

    folder = tmp_path_factory.mktemp("plain")
    json_lines(folder / "all.json", bigquery_jobs(), CUT)
    told = synced(spark, folder / "store", folder / "all.json")
    assert (told.files, told.batches, told.rows, told.days) == (1, 1, 60, 4)
    assert told.quarantined >= 1
    return tables(spark, folder / "store")


@pytest.fixture
def log_files(tmp_path: Path) -> list[Path]:
    """`bigquery_log`, not yet where it is read."""
    rows = bigquery_jobs()
    return [
        json_lines(
            tmp_path / "kept" / f"jobs-{number}.json", rows[number * 15 : number * 15 + 15], "" if number else CUT
        )
        for number in range(4)
    ]
