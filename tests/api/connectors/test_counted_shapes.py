"""Fingerprints of queries against those of a PostgreSQL that counts statements: what it counts as one has one shape."""

from pathlib import Path
from typing import Any

import psycopg
import yaml
from tests.api.connectors import test_connect_command

from headwater.columns.shape.fingerprint import fingerprint

CASE = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/counted.yaml").read_text(encoding="utf-8"))


counting = test_connect_command.counting


def test_what_postgresql_counts_as_one_has_one_fingerprint(counting: Any) -> None:
    with psycopg.connect(counting.url, autocommit=True) as connection:
        connection.execute("create extension if not exists pg_stat_statements")
        for text in CASE["tables"]:
            connection.execute(text)
        for number, group in enumerate(CASE["groups"]):
            shapes: dict[int, set[str]] = {}
            for text in group:
                connection.execute("select pg_stat_statements_reset()")
                connection.execute(text)
                rows = connection.execute(
                    "select queryid, query from pg_stat_statements where query not like '%pg_stat_statements%'"
                ).fetchall()
                ((counted, written),) = rows
                shapes.setdefault(counted, set()).update(
                    {fingerprint(text, "postgres"), fingerprint(written, "postgres")}
                )
            assert {len(some) for some in shapes.values()} == {1}, (number, group, shapes)
        connection.execute("drop table t")


def test_the_groups_are_what_postgresql_counts_as_one(counting: Any) -> None:
    """The test above would notice: most groups are of several texts that PostgreSQL counts as one, and no two groups have one shape."""
    several = [group for group in CASE["groups"] if len(group) > 1]
    assert all(len({fingerprint(text, "postgres") for text in group}) == 1 for group in several)
    first = [fingerprint(group[0], "postgres") for group in CASE["groups"] if not group[0].startswith("select a - -1")]
    assert len(first) - len(set(first)) == 0
