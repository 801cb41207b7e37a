"""One Spark session for these tests, with capture attached to an emitter that keeps events in a list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.spark import emission, recorded, statistics
from headwater.capture.spark.coverage import Coverage
from headwater.capture.spark.examination import Examined, Examiner


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out the tests of what a later line of Spark brought."""
    import pyspark

    line = [int(part) for part in pyspark.__version__.split(".")[:2]]
    later = [
        item
        for item in items
        if any([int(part) for part in mark.args[0].split(".")] > line for mark in item.iter_markers("since"))
    ]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if item not in later]


class Kept:
    """An emitter that delivers nowhere."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def flush(self, timeout: float) -> bool:
        return True


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    home = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("capture")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Small data once: compiling what a query runs takes longer than running it.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kept() -> Kept:
    return Kept()


@pytest.fixture(scope="session")
def attachment(spark: Any, kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from headwater.capture.spark import attach

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWATER_SPARK_HEARTBEAT", "0")  # its signs of life would come between what the cases expect
        patch.setenv("HEADWATER_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("HEADWATER_SPARK_PATIENCE", "120")  # a loaded machine is slow, not wrong
        for name in ("OPENLINEAGE_CONTEXT", "OPENLINEAGE_PARENT_ID"):
            patch.delenv(name, raising=False)
        return attach(spark, emitter=kept)


@pytest.fixture(scope="session")
def land(spark: Any, attachment: Any, kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data every case starts from: /people, /orders, /nested as Parquet, and the tables people and orders."""
    root = tmp_path_factory.mktemp("land")
    people = spark.createDataFrame(
        [(1, "ann", "north", 30), (2, "bob", "south", 40)], "id int, name string, city string, age int"
    )
    orders = spark.createDataFrame(
        [(1, 1, 9.5, "a"), (2, 1, 3.0, "b"), (3, 2, 1.0, "a")], "no int, person int, amount double, kind string"
    )
    people.write.parquet(str(root / "people"))
    orders.write.parquet(str(root / "orders"))
    people.selectExpr(
        "id", "array(name, city) as words", "named_struct('x', age, 'deep', named_struct('y', name)) as info",
        "array(named_struct('p', id, 'q', name)) as pairs",
    ).write.parquet(str(root / "nested"))  # fmt: skip
    people.write.saveAsTable("people")
    orders.write.saveAsTable("orders")
    attachment.flush()
    return root


@pytest.fixture(autouse=True)
def same_facts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Read each plan of a test both ways, from the facts that came along and call by call: what is found must not differ."""
    if "count" in request.fixturenames:
        yield  # the calls are counted
        return
    differences: list[tuple[Any, Any]] = []
    counts, examine = statistics.counts, Examiner.examine

    def count_twice(jqe: Any) -> Any:
        found, jexecuted = counts(jqe), real(jqe).executedPlan()
        slow = statistics.metrics(statistics.walk_by_calls(jexecuted))
        if (found.written, found.scans) != (slow.written, slow.scans) and not found.limit and not slow.limit:
            differences.append((found, slow))
        return found

    def examine_twice(examiner: Examiner, jqe: Any, action: str = "", started: int = 0) -> Any:
        found = examine(examiner, jqe, action, started)
        facts = recorded.facts_of(jqe)
        # What models say changes as it is asked.
        if facts is not None and facts.is_whole and not examiner.predictions.any:
            slow = Examiner(examiner.config, Coverage())
            slow.cuts, slow.predictions = examiner.cuts, examiner.predictions
            other = examine(slow, real(jqe), action, started)
            differences.extend(pair for pair in zip(shown(found), shown(other), strict=True) if pair[0] != pair[1])
        return found

    monkeypatch.setattr(statistics, "counts", count_twice)
    monkeypatch.setattr(Examiner, "examine", examine_twice)
    yield
    for found, other in differences:
        assert found == other


def real(jqe: Any) -> Any:
    """The JVM's own object, asked for without a trace."""
    if not isinstance(jqe, recorded.Recorded):
        return jqe
    asked = jqe._handle.asked
    found = jqe.real()
    jqe._handle.asked = asked
    return found


def shown(found: Examined) -> list[Any]:
    """The parts of events that tell of a query. The ExprIds of a plan that was read before are those of then."""
    write, analysis = found.write, found.analysis
    of_write = ("target", "lifecycle", "partitions", "previous", "columns", "sources")
    result: list[Any] = [found.sql, *(write and (name, getattr(write, name)) for name in of_write)]
    if analysis is not None:
        lineage = emission.column_lineage(analysis, 20_000) if write is not None else None
        read = emission.driver_read(analysis) if write is None else None
        inputs = emission.inputs(analysis.inputs, analysis.leaves, None)
        result += [lineage, read, inputs, analysis.fields, analysis.warnings, analysis.opaque, analysis.leaves.coverage]
    return result
