"""Tables made of an archive on Spark are those that the server made of its log, to the byte; and what is not made is refused by name."""

import datetime as dt
import json
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.events import columns, dataset, facet, parent, run_event, schema
from tests.store.events.test_projection import events as anything

from headwater.errors import InvalidQuestion, NotFound
from headwater.intake.events.executor import ExecutorProjector
from headwater.intake.upkeep.rebuild import rebuild
from headwater.model.identity import Rule
from headwater.pipeline.archive import EVENTS, Server, export
from headwater.pipeline.merges import ELSEWHERE, MERGES
from headwater.pipeline.replay import replay, table_of
from headwater.pipeline.tables import Store
from headwater.store.events import projections
from headwater.store.events.rows import COLUMNS, STATEMENTS

pytestmark = pytest.mark.spark


def some_events(count: int) -> list[Any]:
    """Return events that the shuffling test of the projection draws: every kind of event there is, about few names."""
    found: list[Any] = []

    @settings(
        max_examples=4, deadline=None, phases=[Phase.generate], derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(anything(), min_size=count, max_size=count))
    def draw(told: list[Any]) -> None:
        found.extend(told)

    draw()
    return found


def told_by_hand() -> list[Any]:
    """Return events that are rarely drawn: columns, sources, links, parents, schemas that change at one time, and more runs than keep an
    edge alive."""
    labels = {
        "tags": facet(tags=[{"key": "team", "value": "web"}]),
        "processing_engine": facet(name="spark", version="4"),
    }
    order = {"jobDependencies": facet(upstream=[{"job": {"namespace": "test", "name": "columns"}}])}
    lineage = columns({"a": [("/in", "x", "DIRECT:IDENTITY")]})
    other = columns({"a": [("/in", "y", "DIRECT:TRANSFORMATION")]})
    source = {"dataSource": facet(name="warehouse", uri="postgres://db:5432")}
    link = {"symlinks": facet(identifiers=[{"namespace": "hive", "name": "s.t", "type": "TABLE"}])}
    told = [
        run_event("RUNNING", 90, "columns", ["/in"], [dataset("/c", **lineage, **schema("a"))]),
        run_event("COMPLETE", 90, "columns", ["/in"], [dataset("/c", **other, **schema("b"))]),
        run_event(
            "COMPLETE",
            91,
            "linked",
            [dataset("/linked", **source, **link)],
            ["/c"],
            run_facets=parent(90, "columns") | labels | order,
        ),
    ]
    told.append(run_event("COMPLETE", 91, "linked", [], ["/c"], run_facets=labels | order, at="2026-01-03T00:00:00Z"))
    many = ("COMPLETE", "often", ["/in"], ["/out/2026/01/01"])
    for at in range(25):
        told.append(run_event(many[0], 100 + at, many[1], many[2], many[3], at=f"2026-02-01T00:00:{at // 2:02}Z"))
    return told


def post(url: str, told: list[Any]) -> None:
    body = json.dumps(told).encode()
    request = urllib.request.Request(f"{url}/api/v1/lineage/batch", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.loads(reply.read())["summary"]["failed"] == 0


def plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, uuid.UUID) else value


def in_database(run: Any, database: Any, table: str, columns: list[str]) -> list[Any]:
    async def ask() -> list[Any]:
        async with database.connection() as connection:
            await connection.execute("set local timezone = 'UTC'")
            return await (await connection.execute(f"select {', '.join(columns)} from {table}")).fetchall()

    return sorted(([plain(value) for value in row] for row in run(ask())), key=str)


def on_spark(store: Store, merge: Any) -> list[Any]:
    rows = store.read(table_of(merge)).collect()
    return sorted(([plain(value) for value in row] for row in rows), key=str)


def test_every_table_is_the_servers(spark: Any, server_url: str, database: Any, run: Any, tmp_path: Path) -> None:
    told = some_events(30) + told_by_hand()
    for first in range(0, len(told), 20):
        post(server_url, told[first : first + 20])
    export(spark, str(tmp_path / "archive"), Server(server_url))
    run(rebuild(database))
    done = replay(spark, str(tmp_path / "archive"), str(tmp_path / "store"), ExecutorProjector())
    assert done.computed
    store = Store(spark, str(tmp_path / "store"))
    assert done.events == store.spark.read.parquet(str(tmp_path / "archive" / "events")).count()
    empty = set()
    for merge in MERGES:
        columns = table_of(merge).columns()
        expected = in_database(run, database, merge.table, columns)
        assert on_spark(store, merge) == expected, merge.table
        assert done.rows[merge.table] == len(expected)
        if not expected:
            empty.add(merge.table)
    # So that the comparison compares something.
    assert not empty
    assert any(row[-1] for row in on_spark(store, next(merge for merge in MERGES if merge.table == "jobs")))
    assert not replay(spark, str(tmp_path / "archive"), str(tmp_path / "store"), ExecutorProjector()).computed
    with pytest.raises(InvalidQuestion, match="in no archive"):
        replay(spark, str(tmp_path / "archive"), str(tmp_path / "store"), ExecutorProjector(), tables=["annotations"])
    # By what had arrived, and under rules.
    rule = Rule(kind="name", namespace="file", match="/out", to="/moved")
    at = Store(spark, str(tmp_path / "archive")).read(EVENTS).agg({"received_at": "min"}).first()[0].astimezone(dt.UTC)
    part = replay(
        spark,
        str(tmp_path / "archive"),
        str(tmp_path / "part"),
        ExecutorProjector((rule,)),
        "moved",
        tables=["datasets"],
        until=at,
    )
    assert 0 < part.events < done.events
    assert set(part.rows) == {"datasets"}
    moved = replay(
        spark,
        str(tmp_path / "archive"),
        str(tmp_path / "moved"),
        ExecutorProjector((rule,)),
        "moved",
        tables=["datasets"],
    )
    assert moved.events == done.events
    names = {row["name"] for row in Store(spark, str(tmp_path / "moved")).read(table_of(MERGES[0])).collect()}
    assert "/moved" in names
    assert not any(name.startswith("/out") for name in names)


def test_every_table_is_spoken_of() -> None:
    """A table that is merged here takes the columns the server's statements take; any other is named with its reason."""
    assert {merge.table for merge in MERGES} | set(ELSEWHERE) == set(projections.TABLES)
    assert not {merge.table for merge in MERGES} & set(ELSEWHERE)
    columns = {statement: COLUMNS[row] for row, statement in STATEMENTS.items()}
    for merge in MERGES:
        assert tuple(merge.told) == columns[merge.query], merge.query


def test_nothing_there(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        replay(spark, str(tmp_path / "archive"), str(tmp_path / "store"), ExecutorProjector())
    with pytest.raises(InvalidQuestion, match="no table"):
        replay(spark, str(tmp_path / "archive"), str(tmp_path / "store"), ExecutorProjector(), tables=["events"])
