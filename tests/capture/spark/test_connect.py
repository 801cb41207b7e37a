"""The same programs through Spark Connect: a real server, a client without a JVM, and the lineage that the session with a JVM has.

tests/cases/connect.json names what differs, and why: events by case, the line of Spark that brought it to Spark Connect, or the reason that a case is
no program for it.
"""

import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from test_cases import CASES, LINE, NAMES, line, run, told
from tests.fixtures.connect import connect_server

from conftest import Kept
from headwater.capture.spark import environment
from headwater.capture.spark.connect import requests
from headwater.capture.spark.connect.collector import NO_COUNTS
from headwater.capture.spark.connect.server import Server
from scale import suite_takes

PATIENCE = 240.0
"""Seconds that capture may take to report a program: each command costs it some questions, which a busy machine answers slowly."""
ATTEMPTS = 4
SLOW_WORKER = "Python worker failed to connect back"
"""Spark gives a Python worker of a streaming function ten seconds to start, by no setting: a worker imports pandas and gRPC first, which a busy machine
does not do in time. The program is run again then.
"""
DIFFERENT = json.loads((CASES.parent / "connect.json").read_text())
HOME = Path(pyspark.__file__).parent
pytestmark = [
    pytest.mark.spark,
    pytest.mark.since("4.0"),  # PySpark 3.5 brings no server
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server of the environment's own Spark."""
    submit = ["env", f"SPARK_HOME={HOME}", str(HOME / "bin/spark-submit")]
    with connect_server(submit, tmp_path_factory.mktemp("connect"), {"spark.sql.shuffle.partitions": 2}) as found:
        yield found


@pytest.fixture(scope="module")
def remote(address: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(address).create()
    session.conf.set("spark.app.name", "capture")
    yield session
    session.client.close()


@pytest.fixture(scope="module")
def events() -> Kept:
    return Kept()


@pytest.fixture(scope="module")
def watched(remote: Any, events: Kept) -> Iterator[Any]:
    from headwater.capture.spark import attach

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWATER_SPARK_HEARTBEAT", "0")
        for name in ("OPENLINEAGE_CONTEXT", "OPENLINEAGE_PARENT_ID"):
            patch.delenv(name, raising=False)
        found = attach(remote, emitter=events)
    found.flush()
    yield found
    found.detach()


@pytest.fixture(scope="module")
def place(remote: Any, watched: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data that the session with a JVM has too."""
    root = tmp_path_factory.mktemp("land")
    people = remote.createDataFrame(
        [(1, "ann", "north", 30), (2, "bob", "south", 40)], "id int, name string, city string, age int"
    )
    orders = remote.createDataFrame(
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
    watched.flush()
    return root


# Those that the suite takes too: each kind of relation, statement and end.
_TAKEN = (
    "columns_added",
    "dataframe_subqueries",
    "driver_reads",
    "dropped_tables",
    "failed",
    "foreach_batch",
    "formats",
    "insert_into",
    "join_using",
    "script_transform",
    "stream_to_files",
    "structs",
    "struct_fields_dropped",
    "temp_view",
    "time_windows",
    "time_windows_in_sql",
    "udf",
    "views_of_files",
    "window",
    "writers",
)


@pytest.mark.parametrize(
    "name",
    suite_takes(
        [
            name
            for name in NAMES
            if "never" not in (different := DIFFERENT.get(name, {})) and line(different.get("since", "3.5")) <= LINE
        ],
        _TAKEN,
    ),
)
def test_as_with_a_jvm(
    name: str, remote: Any, watched: Any, events: Kept, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    different = DIFFERENT.get(name, {})
    from pyspark.sql.connect import functions
    from pyspark.sql.connect.window import Window

    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as `SparkSession.builder` sets it, for functions that ask
    for attempt in range(ATTEMPTS):
        assert watched.flush(PATIENCE)
        events.events.clear()
        watched._application._reported.clear()
        (folder := tmp_path / str(attempt)).mkdir()
        try:
            run(name, remote, place, folder, functions, Window)
            break
        except Exception as error:
            if SLOW_WORKER not in str(error) or attempt + 1 == ATTEMPTS:
                raise
    assert watched.flush(PATIENCE)
    case = json.loads((CASES / f"{name}.expected.json").read_text())
    expected = different.get("events") or case["events"]
    expected = [{key: value for key, value in event.items() if key != "rows"} for event in expected]
    actual = told(events.events, any_order=case.get("any_order", False))
    # Sorted by the whole name, whose folder is another than that of the session with a JVM.
    for event in (*actual, *expected):
        event.get("dataset", []).sort()
    assert actual == expected, json.dumps(actual, indent=1)
    ends = [
        event
        for event in events.events
        if event["eventType"] == "COMPLETE"
        and event["inputs"]
        and event["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    ]
    assert all(NO_COUNTS in event["run"]["facets"]["headwater_warnings"]["warnings"] for event in ends)


def test_tables_are_named_as_they_were_when_capture_is_late(
    remote: Any, watched: Any, events: Kept, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Capture asks the server about tables when the program, which goes on, has moved and dropped them."""
    from pyspark.sql.connect import functions
    from pyspark.sql.connect.window import Window

    assert watched.flush(PATIENCE)
    events.events.clear()
    take, over = watched._collector.take, threading.Event()
    monkeypatch.setattr(watched._collector, "take", lambda *given: (over.wait(), take(*given)))
    try:
        run("writers", remote, place, tmp_path, functions, Window)
    finally:
        over.set()
    assert watched.flush(PATIENCE)
    assert told(events.events) == uncounted("writers")


def test_a_table_has_its_name_while_it_is_replaced(
    remote: Any, watched: Any, events: Kept, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Capture asks about a table when Spark has dropped it, and has not made it again."""
    from pyspark.sql.connect import functions
    from pyspark.sql.connect.window import Window

    assert watched.flush(PATIENCE)
    events.events.clear()
    take, end, ask, replaces = watched._collector.take, requests._ended, Server.table, threading.Event()
    taken: dict[int, threading.Event] = defaultdict(threading.Event)

    def take_half_way(kind: str, request: Any) -> None:
        text = str(request.plan.command)
        if kind == "start" and ("drop table" in text or ("MODE_OVERWRITE" in text and "INSERT_INTO" not in text)):
            replaces.set()
        take(kind, request)
        replaces.clear()
        if kind == "end":
            taken[id(request)].set()

    def end_and_wait(receive: Any, request: Any, failure: Any) -> None:
        end(receive, request, failure)
        if request is not None:
            assert taken[id(request)].wait(PATIENCE)

    def ask_half_way(server: Server, name: str) -> Any:
        return None if replaces.is_set() and "made_writers" in name else ask(server, name)

    monkeypatch.setattr(watched._collector, "take", take_half_way)
    monkeypatch.setattr(requests, "_ended", end_and_wait)
    monkeypatch.setattr(Server, "table", ask_half_way)
    run("writers", remote, place, tmp_path, functions, Window)
    assert watched.flush(PATIENCE)
    actual = told(events.events)
    assert actual == uncounted("writers"), json.dumps(actual, indent=1)


def uncounted(name: str) -> list[dict[str, Any]]:
    """Return the expected events of a case without counts of rows."""
    expected = json.loads((CASES / f"{name}.expected.json").read_text())["events"]
    return [{key: value for key, value in event.items() if key != "rows"} for event in expected]


PROGRAM = """
import sys
from pyspark.sql import SparkSession, functions as F
address, folder = sys.argv[1:]
spark = SparkSession.builder.remote(address).appName("nightly").getOrCreate()
spark.range(3).withColumn("k", F.col("id") + 1).write.parquet(f"{folder}/in")
# Of a server in the program itself PySpark asks for minutes after its end, where there was a second session.
other = spark if address.startswith("local") or not hasattr(spark, "newSession") else spark.newSession()
other.read.parquet(f"{folder}/in").groupBy("k").agg(F.sum("id").alias("s")).write.parquet(f"{folder}/out")
if other is not spark:
    other.stop()
spark.stop()
"""


def test_one_variable(address: str, tmp_path: Path) -> None:
    judge(address, tmp_path)


def test_a_server_in_the_program_itself(tmp_path: Path) -> None:
    """`remote("local")` starts the server in the program's own process, where there is a JVM to ask."""
    judge("local[2]", tmp_path)


def judge(address: str, tmp_path: Path) -> None:
    events = tmp_path / "events.ndjson"
    env = {
        key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "OPENLINEAGE_", "SPARK_"))
    }
    env |= {"HEADWATER_TRANSPORT": "file", "HEADWATER_EVENTS_FILE": str(events)} | environment(env)
    subprocess.run(
        [sys.executable, "-c", PROGRAM, address, tmp_path],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        timeout=240,
    )
    told_ = [json.loads(line) for line in events.read_text().splitlines()]
    ends = {event["job"]["name"]: event for event in told_ if event["eventType"] == "COMPLETE"}
    assert set(ends) == {"nightly", "nightly.in", "nightly.out"}
    owner = ends["nightly"]["run"]["runId"]
    assert all(event["run"]["facets"]["parent"]["run"]["runId"] == owner for name, event in ends.items() if "." in name)
    (output,) = ends["nightly.out"]["outputs"]
    assert [one["field"] for one in output["facets"]["columnLineage"]["fields"]["s"]["inputFields"]] == ["id"]
    assert [event["eventType"] for event in told_ if event["job"]["name"] == "nightly"] == ["START", "COMPLETE"]
