"""The calls between Python and the JVM that capture makes for a query: counts, for they are most of what it costs."""

import re
import threading
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.capture.spark import compiled, statistics

pytestmark = [
    pytest.mark.spark,
    # pyspark leaves sockets of its gateway to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Count = Callable[[Callable[[], Any]], tuple[int, int]]

_CALLS_A_LEAF = 12


@pytest.fixture
def count(spark: Any, attachment: Any, land: Path, monkeypatch: pytest.MonkeyPatch) -> Count:
    """Return a function that does something and returns the calls of capture's thread for it: in the collector, and around it for the listener."""
    client = spark.sparkContext._gateway._gateway_client
    send, take = client.send_command, attachment._collector.take
    inside = threading.local()
    calls = {"collector": 0, "listener": 0}

    def counted(command: str, *arguments: Any, **named: Any) -> Any:
        if threading.current_thread().name == "headwater-spark":
            calls["collector" if getattr(inside, "taking", False) else "listener"] += 1
        return send(command, *arguments, **named)

    def taking(*arguments: Any, **named: Any) -> Any:
        inside.taking = True
        try:
            return take(*arguments, **named)
        finally:
            inside.taking = False

    monkeypatch.setattr(client, "send_command", counted)
    monkeypatch.setattr(attachment._collector, "take", taking)

    def run(work: Callable[[], Any]) -> tuple[int, int]:
        attachment.flush()
        calls.update(collector=0, listener=0)
        work()
        attachment.flush()
        return calls["collector"], calls["listener"]

    return run


@pytest.fixture
def grouped(spark: Any, land: Path) -> Any:
    frame = spark.read.schema("no int, kind string").parquet(str(land / "orders"))
    return frame.where("no > 1").groupBy("kind").count()


def test_a_query_costs_a_bounded_number_of_calls(spark: Any, grouped: Any, count: Count, tmp_path: Path) -> None:
    def write() -> None:
        grouped.write.mode("overwrite").parquet(str(tmp_path / "out"))

    count(grouped.collect)  # what is asked once
    count(write)
    assert count(grouped.collect)[0] <= 26
    assert count(write)[0] <= 48


def test_the_counts_of_a_large_plan_cost_one_call(spark: Any, count: Count, land: Path, tmp_path: Path) -> None:
    def write(scans: int) -> int:
        frame = spark.read.schema("no int, kind string").parquet(str(land / "orders"))
        made = reduce(lambda left, right: left.union(right), [frame] * scans)
        return count(lambda: made.coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "out")))[0]

    write(2)
    few = write(2)
    # One relation, which each scan reads: each leaf of the analysed plan costs its own calls, each node of the executed one none.
    assert write(22) - few <= 20 * _CALLS_A_LEAF


def test_past_the_limit_the_run_says_how_many_nodes_were_read(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_MOST_NODES_AT_ONCE", 2)
    attachment.flush()
    kept.events.clear()
    grouped.write.parquet(str(tmp_path / "out"))
    attachment.flush()
    (limit,) = kept.events[-1]["run"]["facets"]["headwater_coverage"]["limits"]
    assert re.fullmatch(r"for counts, 2 of \d+ nodes of the executed plan were read", limit)


def test_over_py4j_the_run_says_that_there_may_be_more_nodes(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_MOST_NODES", 2)
    monkeypatch.setattr(attachment._collector, "_executed_plans", statistics.ExecutedPlans(SimpleNamespace()))
    attachment.flush()
    kept.events.clear()
    grouped.write.parquet(str(tmp_path / "out"))
    attachment.flush()
    (limit,) = kept.events[-1]["run"]["facets"]["headwater_coverage"]["limits"]
    assert limit == "for counts, 2 of at least 3 nodes of the executed plan were read"


def test_the_limit_of_an_execution_inside_another_is_told(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_MOST_NODES_AT_ONCE", 2)
    attachment.flush()
    kept.events.clear()
    grouped.createOrReplaceTempView("grouped")
    spark.sql(f"CREATE TABLE made USING parquet LOCATION '{tmp_path / 'made'}' AS SELECT * FROM grouped")
    attachment.flush()
    spark.sql("DROP TABLE made")
    (complete,) = [one for one in kept.events if one["eventType"] == "COMPLETE"]
    limits = complete["run"]["facets"]["headwater_coverage"]["limits"]
    assert any(re.fullmatch(r"for counts, 2 of \d+ nodes of the executed plan were read", limit) for limit in limits)


class _Broken:
    """Java that compiles, and asks for a method that the driver has not."""

    def __init__(self) -> None:
        self.asked = 0

    def read(self, _plan: Any, _most: int) -> str:
        self.asked += 1
        raise RuntimeError("NoSuchMethodError: children()")


@pytest.mark.parametrize("broken", [False, True], ids=["not compiled", "broken"])
def test_without_the_java_the_plan_is_read_in_more_calls(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    plans, java = statistics.ExecutedPlans(SimpleNamespace()), _Broken()
    assert compiled.compile_in(SimpleNamespace(), "ExecutedPlanFacts") is None
    if broken:
        monkeypatch.setattr(compiled, "compile_in", lambda _jvm, _name: java)
    monkeypatch.setattr(attachment._collector, "_executed_plans", plans)
    attachment.flush()
    kept.events.clear()
    for _ in range(2):
        grouped.write.mode("overwrite").parquet(str(tmp_path / "out"))
    attachment.flush()
    ends = [one for one in kept.events if one["eventType"] == "COMPLETE"]
    assert [one["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] for one in ends] == [2, 2]
    assert java.asked == int(broken)  # not again


def test_texts_with_any_characters_come_back_as_they_are(spark: Any, attachment: Any) -> None:
    facts = compiled.compile_in(spark.sparkContext._jvm, "ExecutedPlanFacts")
    frame = spark.createDataFrame([(1,)], "`7:a\n\U0001f600ü` int")
    jexecuted = frame._jdf.queryExecution().executedPlan()
    assert statistics.walk_at_once(jexecuted, facts) == statistics.walk_by_calls(jexecuted)
    assert "7:a\n\U0001f600ü" in statistics.walk_at_once(jexecuted, facts).found[0].output
