"""Programs that fit, save, load and use models through Spark Connect: the runs are those of tests/cases/models, which a session with a JVM has.

tests/cases/connect-models.json names what differs, and why.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_cases import named, run
from test_connect import HOME, PATIENCE
from test_models import CASES, told
from tests.fixtures.connect import connect_server

from conftest import Kept

DIFFERENT = json.loads((CASES.parent / "connect-models.json").read_text())
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.json"))
pytestmark = [
    pytest.mark.spark,
    pytest.mark.since("4.0"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, Kept, Path]]:
    """A session, what captures it, its events, and the folder of the tables that the cases read."""
    from pyspark.sql.connect.session import SparkSession

    from headwater.capture.spark import attach

    submit = ["env", f"SPARK_HOME={HOME}", str(HOME / "bin/spark-submit")]
    events = Kept()
    with (
        connect_server(submit, tmp_path_factory.mktemp("connect"), {}) as address,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HEADWATER_SPARK_HEARTBEAT", "0")
        patch.setenv("HEADWATER_SPARK_PATIENCE", str(PATIENCE))
        patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        for name in ("OPENLINEAGE_CONTEXT", "OPENLINEAGE_PARENT_ID"):
            patch.delenv(name, raising=False)
        session = SparkSession.builder.remote(address).create()
        # One that other tests closed would stay the active one, for which pyspark.ml asks.
        SparkSession._active_session.session = session
        found = attach(session, emitter=events)
        root = tmp_path_factory.mktemp("land")
        people = [(1, "ann", "north", 30), (2, "bob", "south", 40)]
        session.createDataFrame(people, "id int, name string, city string, age int").write.parquet(f"{root}/people")
        orders = [(1, 1, 9.5, "a"), (2, 1, 3.0, "b"), (3, 2, 1.0, "a")]
        session.createDataFrame(orders, "no int, person int, amount double, kind string").write.parquet(
            f"{root}/orders"
        )
        yield session, found, events, root
        session.client.close()
        found.detach()


@pytest.mark.parametrize("name", NAMES)
def test_as_with_a_jvm(
    name: str, program: tuple[Any, Any, Kept, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from pyspark.sql.connect import functions

    session, watched, events, land = program
    expected = json.loads((CASES / f"{name}.expected.json").read_text()) | DIFFERENT.get(name, {})
    assert watched.flush(PATIENCE)
    events.events.clear()
    watched._application._reported.clear()
    with caplog.at_level(logging.WARNING, "headwater"):
        run(name, session, land, tmp_path, functions, None, CASES)
        assert watched.flush(PATIENCE)
    assert [record.getMessage() for record in caplog.records if record.name == "headwater"] == []
    runs = [told(event) for event in events.events if event["eventType"] == "COMPLETE" and event["outputs"]]
    for one, wanted in zip(runs, expected["runs"], strict=False):
        if params := wanted.get("params"):  # of the many, those that the program sets
            one["params"] = {key: value for key, value in one["params"].items() if key in params}
    assert runs == expected["runs"], json.dumps(runs, indent=1)
    read = [one for event in events.events if event["eventType"] == "RUNNING" for one in named(event["inputs"])]
    assert sorted(set(read) - {"people", "orders"}) == expected["loads"]
    starts = {event["run"]["runId"] for event in events.events if event["eventType"] == "START"}
    assert {event["run"]["runId"] for event in events.events if event["eventType"] == "COMPLETE"} == starts
    assert watched._application.coverage.unseen == []
