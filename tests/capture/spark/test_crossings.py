"""The calls between Python and the JVM that capture makes for a query: counts, for they are most of what it costs."""

import re
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.capture.spark import bytecode, commands, compiled, recorded, statistics

pytestmark = [
    pytest.mark.spark,
    # pyspark leaves sockets of its gateway to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Count = Callable[[Callable[[], Any]], "Calls"]

# What waits for events, and returns without any after a while: how often depends on the load of the machine.
_WAIT = re.compile(r"c\n\w+\ntake\n")
_QUERY = ["", "SparkListenerSQLExecutionEnd", "SparkListenerSQLExecutionStart"]


@dataclass
class Calls:
    """The calls of capture's thread for some work, whatever its time. `events`: the classes of those that the waits returned, "" for a token, sorted;
    `more`: the other calls, without the releases of objects, which a wait without events brings.
    """

    events: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)


@pytest.fixture
def count(spark: Any, attachment: Any, land: Path, monkeypatch: pytest.MonkeyPatch) -> Count:
    """Return a function that does something and returns the calls of capture's thread for it."""
    client, inbox = spark.sparkContext._gateway._gateway_client, attachment._inbox
    send, take, release = client.send_command, inbox.take, inbox.quiet.release
    releasing = threading.Event()  # only capture's thread releases
    calls = Calls()

    def counted(command: str, *arguments: Any, **named: Any) -> Any:
        if threading.current_thread().name == "headwater-spark" and not releasing.is_set() and not _WAIT.match(command):
            calls.more.append(command)
        return send(command, *arguments, **named)

    def taking() -> Any:
        found = take()
        calls.events += [kind for kind, _ in found]
        return found

    def release_uncounted(*arguments: Any) -> None:
        releasing.set()
        try:
            release(*arguments)
        finally:
            releasing.clear()

    monkeypatch.setattr(client, "send_command", counted)
    monkeypatch.setattr(inbox, "take", taking)
    monkeypatch.setattr(inbox.quiet, "release", release_uncounted)

    def run(work: Callable[[], Any]) -> Calls:
        attachment.flush()
        calls.events, calls.more = [], []
        work()
        attachment.flush()
        return Calls(sorted(calls.events), list(calls.more))

    return run


@pytest.fixture
def grouped(spark: Any, land: Path) -> Any:
    frame = spark.read.schema("no int, kind string").parquet(str(land / "orders"))
    return frame.where("no > 1").groupBy("kind").count()


def test_a_query_costs_one_wait_an_event(spark: Any, grouped: Any, count: Count, tmp_path: Path) -> None:
    def write() -> None:
        grouped.write.mode("overwrite").parquet(str(tmp_path / "out"))

    count(grouped.collect)  # what is asked once
    count(write)
    assert count(grouped.collect) == Calls(_QUERY)
    assert count(write) == Calls(_QUERY)


def test_a_slow_query_costs_no_more_calls(spark: Any, count: Count, tmp_path: Path) -> None:
    """Waits without events come between its beginning, its end and the token."""
    slow = spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', cast(4500 as bigint)) is null as x")

    def write() -> None:
        slow.write.mode("overwrite").parquet(str(tmp_path / "out"))
        time.sleep(2.5)

    count(lambda: spark.range(1).write.parquet(str(tmp_path / "other")))  # what is asked once
    assert count(slow.collect) == Calls(_QUERY)
    assert count(write) == Calls(_QUERY)


def test_a_large_plan_costs_no_more_calls(spark: Any, count: Count, land: Path, tmp_path: Path) -> None:
    def write(scans: int) -> Calls:
        frame = spark.read.schema("no int, kind string").parquet(str(land / "orders"))
        made = reduce(lambda left, right: left.union(right), [frame] * scans)
        return count(lambda: made.coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "out")))

    write(2)
    assert write(22) == Calls(_QUERY)


def test_past_the_limit_the_run_says_how_many_nodes_were_read(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "MOST_NODES_AT_ONCE", 2)
    monkeypatch.setattr(attachment._inbox, "_java", None)
    attachment._inbox.compile(commands.KINDS, [], 100_000)
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
    monkeypatch.setattr(attachment._inbox, "_java", None)
    attachment.flush()
    kept.events.clear()
    grouped.write.parquet(str(tmp_path / "out"))
    attachment.flush()
    (limit,) = kept.events[-1]["run"]["facets"]["headwater_coverage"]["limits"]
    assert limit == "for counts, 2 of at least 3 nodes of the executed plan were read"


def test_the_limit_of_an_execution_inside_another_is_told(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "MOST_NODES_AT_ONCE", 2)
    monkeypatch.setattr(attachment._inbox, "_java", None)
    attachment._inbox.compile(commands.KINDS, [], 100_000)
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

    def take(self, _released: str) -> str:
        self.asked += 1
        raise RuntimeError("NoSuchMethodError: children()")


@pytest.mark.parametrize("broken", [False, True], ids=["not compiled", "broken"])
def test_without_the_java_the_plan_is_read_in_more_calls(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    java = _Broken()
    assert compiled.compile_in(SimpleNamespace()) is None
    monkeypatch.setattr(attachment._inbox, "_java", java if broken else None)
    attachment.flush()
    kept.events.clear()
    for _ in range(2):
        grouped.write.mode("overwrite").parquet(str(tmp_path / "out"))
    attachment.flush()
    ends = [one for one in kept.events if one["eventType"] == "COMPLETE"]
    assert [one["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] for one in ends] == [2, 2]
    assert [sorted(one["outputs"][0]["facets"]["columnLineage"]["fields"]) for one in ends] == [["count", "kind"]] * 2
    assert java.asked == int(broken)  # not again


def test_a_later_program_compiles_nothing(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process loads the classes that one compiled, under a name of its own; those that cannot be loaded are compiled again."""
    asked: list[str] = []
    find = compiled.java_class
    monkeypatch.setattr(
        compiled, "java_class", lambda jvm, name: asked.append(name.rsplit(".", 1)[-1]) or find(jvm, name)
    )
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    names = []
    for _ in range(2):
        monkeypatch.setattr(compiled, "_compiled", weakref.WeakKeyDictionary())
        java = compiled.compile_in(spark._jvm)
        java.configure(spark._jvm.java.util.concurrent.LinkedBlockingQueue(1), "", "", "", 1, 1)
        names.append(java.getClass().getName())
    assert asked.count("SimpleCompiler") == 1
    assert asked.count("ByteArrayClassLoader") == 1
    assert len(set(names)) == 2
    (file,) = (tmp_path / "compiled").iterdir()
    classes = bytecode.read(file)
    assert classes is not None
    bytecode.write(file, {name: code[:-7] for name, code in classes.items()})
    monkeypatch.setattr(compiled, "_compiled", weakref.WeakKeyDictionary())
    assert compiled.compile_in(spark._jvm) is not None
    assert asked.count("SimpleCompiler") == 2
    assert bytecode.read(file) == classes


def test_texts_with_any_characters_come_back_as_they_are(
    spark: Any, attachment: Any, kept: Any, tmp_path: Path
) -> None:
    odd = '7:a "\\\U0001f600ü'
    attachment.flush()
    kept.events.clear()
    spark.createDataFrame([(1,)], "a int").selectExpr(f"a as `{odd}`").write.parquet(str(tmp_path / "out"))
    attachment.flush()
    assert [one["name"] for one in kept.events[-1]["outputs"][0]["facets"]["schema"]["fields"]] == [odd]


def test_the_same_query_again_costs_no_reading_and_says_the_same(
    spark: Any, attachment: Any, kept: Any, grouped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def query(least: int, folder: str) -> None:
        frame = spark.read.schema("no int, kind string").parquet(folder)
        frame.where(f"no > {least}").groupBy("kind").count().write.mode("overwrite").parquet(str(tmp_path / "out"))

    source = str(tmp_path / "source")
    for folder in (source, f"{source}2"):
        spark.range(4).selectExpr("cast(id as int) no", "'a' kind").write.parquet(folder)
    query(0, source)
    attachment.flush()
    kept.events.clear()
    read = []
    monkeypatch.setattr(
        recorded.QueryFacts, "tree", lambda facts, tree=recorded.QueryFacts.tree: read.append(1) or tree(facts)
    )
    query(1, source)
    query(2, source)
    attachment.flush()
    first, second = [one for one in kept.events if one["eventType"] == "COMPLETE"]
    assert not read
    assert first["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 2
    assert first["outputs"][0]["facets"] == second["outputs"][0]["facets"]
    assert first["inputs"] == second["inputs"]
    query(1, f"{source}2")  # the same plan of another folder is another query
    attachment.flush()
    assert read
    assert kept.events[-1]["inputs"][0]["name"].endswith("/source2")
