"""Facets, identities and behaviour that the cases do not show: schema, counts, symlinks, errors, other processes."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.spark import attach, commands, environment

pytestmark = [
    pytest.mark.spark,
    # pyspark leaves sockets of its gateway to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def events(attachment: Any, kept: Any, land: Path) -> list[dict[str, Any]]:
    attachment.flush()
    kept.events.clear()
    attachment._application._reported.clear()
    return kept.events


def test_a_write_says_schema_counts_and_where_its_table_is(
    spark: Any, attachment: Any, events: Any, tmp_path: Path
) -> None:
    spark.table("orders").where("amount > 2").write.partitionBy("kind").parquet(str(tmp_path / "out"))
    attachment.flush()
    start, complete = events
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    (read,) = complete["inputs"]
    assert [f["name"] for f in read["facets"]["schema"]["fields"]] == ["no", "person", "amount", "kind"]
    assert read["facets"]["symlinks"]["identifiers"][0]["name"] == "default.orders"
    assert read["inputFacets"]["inputStatistics"]["fileCount"] >= 1
    (written,) = complete["outputs"]
    assert written["namespace"] == "file"
    assert written["name"] == str(tmp_path / "out")
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert written["outputFacets"]["outputStatistics"]["size"] > 0
    assert written["outputFacets"]["outputStatistics"]["fileCount"] == 2
    assert written["facets"]["headwater_partitioning"]["columns"] == ["kind"]
    run = complete["run"]["facets"]
    assert run["processing_engine"]["name"] == "spark"
    assert run["processing_engine"]["version"] == spark.version
    assert run["parent"]["job"]["name"] == "capture"
    assert run["parent"]["root"]["run"]["runId"] == run["parent"]["run"]["runId"]
    assert run["headwater_spark"]["applicationId"] == spark.sparkContext.applicationId
    assert complete["job"]["facets"]["jobType"]["processingType"] == "BATCH"


def test_only_of_what_is_known_it_is_said_that_nothing_feeds_it(
    spark: Any, attachment: Any, events: Any, tmp_path: Path
) -> None:
    orders = spark.table("orders").selectExpr("no", "1 as one")
    orders.write.parquet(str(tmp_path / "plain"))
    rows = spark.createDataFrame(spark.table("orders").select("no", "kind").rdd)
    rows.join(spark.table("orders").select("no", "amount"), "no").write.parquet(str(tmp_path / "rows"))
    attachment.flush()
    plain, joined = (
        event["outputs"][0]["facets"]["columnLineage"]["fields"] for event in events if event["eventType"] == "COMPLETE"
    )
    assert plain["one"] == {"inputFields": []}
    # An RDD's rows may be made from anything.
    assert sorted(joined) == ["amount"]


def test_nested_fields_are_in_the_schema(spark: Any, attachment: Any, events: Any, land: Path, tmp_path: Path) -> None:
    spark.read.parquet(str(land / "nested")).write.parquet(str(tmp_path / "out"))
    attachment.flush()
    fields = {f["name"]: f for f in events[-1]["inputs"][0]["facets"]["schema"]["fields"]}
    assert fields["info"]["type"] == "struct"
    assert [f["name"] for f in fields["info"]["fields"]] == ["x", "deep"]
    assert fields["words"]["type"] == "array<string>"
    assert [f["name"] for f in fields["pairs"]["fields"]] == ["p", "q"]


def test_sql_text_is_kept(spark: Any, attachment: Any, events: Any) -> None:
    spark.sql("create table facts_sql using parquet as select id from people")
    spark.sql("drop table facts_sql")
    attachment.flush()
    assert events[0]["job"]["facets"]["sql"]["query"] == "create table facts_sql using parquet as select id from people"


def test_a_failure_carries_its_first_line_and_a_bounded_trace(
    spark: Any, attachment: Any, events: Any, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="boom"):
        spark.sql("select cast(raise_error('boom') as string) as x from people").write.parquet(str(tmp_path / "out"))
    attachment.flush()
    assert [event["eventType"] for event in events] == ["START", "FAIL"]
    error = events[-1]["run"]["facets"]["errorMessage"]
    assert "boom" in error["message"]
    assert "\n" not in error["message"]
    assert "org.apache.spark" in error["stackTrace"]
    assert len(error["stackTrace"]) <= 16 * 1024


def test_a_rename_names_what_it_was(spark: Any, attachment: Any, events: Any) -> None:
    spark.sql("create table facts_old (id int) using parquet")
    spark.sql("alter table facts_old rename to facts_new")
    spark.sql("drop table facts_new")
    attachment.flush()
    (renamed,) = [e for e in events if e["eventType"] == "COMPLETE" and e["outputs"][0]["name"].endswith("facts_new")][
        :1
    ]
    change = renamed["outputs"][0]["facets"]["lifecycleStateChange"]
    assert change["lifecycleStateChange"] == "RENAME"
    assert change["previousIdentifier"]["name"].endswith("/facts_old")


def test_a_huge_plan_keeps_its_tables_and_says_what_is_missing(
    spark: Any, attachment: Any, events: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachment._inbox, "_java", None)
    attachment._inbox.compile(commands.KINDS, [], 3)
    attachment.flush()
    spark.table("people").write.parquet(str(tmp_path / "out"))
    attachment.flush()
    (read,) = events[-1]["inputs"]
    assert read["name"].endswith("/people")
    assert events[-1]["outputs"][0]["name"] == str(tmp_path / "out")
    assert "columnLineage" not in events[-1]["outputs"][0]["facets"]
    (warning,) = events[-1]["run"]["facets"]["headwater_warnings"]["warnings"]
    assert re.fullmatch(r"column lineage left out: \d of \d nodes of the plan were read", warning)


def test_deep_plans_end_in_tables_not_in_a_hang(spark: Any, attachment: Any, events: Any, tmp_path: Path) -> None:
    frame = spark.table("people")
    for _ in range(300):
        frame = frame.where("id > 0")
    frame.write.parquet(str(tmp_path / "out"))
    attachment.flush()
    assert events[-1]["eventType"] == "COMPLETE"
    assert events[-1]["inputs"][0]["name"].endswith("/people")


def test_attaching_again_is_the_same_attachment(spark: Any, attachment: Any) -> None:
    assert attach(spark) is attachment
    assert attach(spark.newSession()) is attachment


def test_attach_is_a_function_still_when_it_was_called(attachment: Any) -> None:
    """A module of that name in its place would refuse every session but the first."""
    from headwater.capture import spark as capture

    assert inspect.isfunction(capture.attach)


def test_the_end_of_a_program_tells_all_and_waits_for_no_server(
    spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reported events are in the spool. Delivering it has a bound of its own at exit; a server that is down must not add to it."""
    waited: list[float] = []
    monkeypatch.setattr(kept, "flush", lambda timeout: waited.append(timeout))
    before = len(kept.events)
    spark.read.parquet(str(land / "people")).write.parquet(str(tmp_path / "out"))
    monkeypatch.setattr(attachment._application, "end", lambda: None)
    attachment._finish()
    assert [event["eventType"] for event in kept.events[before:]] == ["START", "COMPLETE"]
    assert waited == []


def test_what_is_no_session_is_logged_and_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    inert = attach(object())
    assert not inert.active
    assert inert.flush()
    inert.detach()
    assert len([r for r in caplog.records if "not attached" in r.message]) == 1


def test_environment_keeps_the_path_and_is_idempotent() -> None:
    once = environment({"PYTHONPATH": "/a"})
    assert once["HEADWATER_CAPTURE"] == "spark"
    assert once["PYTHONPATH"].endswith("/capture/spark/site:/a")
    assert environment(once) == once


PROGRAM = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").appName("program").config("spark.ui.enabled", "false").getOrCreate()
spark.range(3).write.parquet(sys.argv[1] + "/a")
spark.newSession().read.parquet(sys.argv[1] + "/a").selectExpr("id + 1 as k").write.parquet(sys.argv[1] + "/b")
if sys.argv[2] == "die":
    raise ValueError("no more")
if sys.argv[2] == "stop":
    spark.stop()
"""


@pytest.mark.parametrize(
    ("launcher", "ending"), [("python", "die"), pytest.param("spark-submit", "stop", marks=pytest.mark.soak)]
)
def test_a_program_is_captured_without_a_line_of_code(launcher: str, ending: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text("import os; os.environ['OTHER_SITE'] = 'ran'")
    (tmp_path / "program.py").write_text(PROGRAM + "\nimport os; assert os.environ['OTHER_SITE'] == 'ran'\n")
    told = tmp_path / "events.ndjson"
    source = str(Path(__file__).parents[3] / "src")
    before = [os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else []  # an older Spark (scripts/spark-versions)
    current = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "other"), source, *before])}
    current |= environment(current) | {
        "HEADWATER_TRANSPORT": "file",
        "HEADWATER_EVENTS_FILE": str(told),
        "HEADWATER_SPOOL": str(tmp_path / "spool"),
        "PYSPARK_PYTHON": sys.executable,
    }
    if launcher == "spark-submit":
        parent = {
            "run": {"runId": "01890000-0000-7000-8000-000000000001"},
            "job": {"namespace": "ns", "name": "package"},
        }
        current["OPENLINEAGE_CONTEXT"] = json.dumps({"parent": {**parent, "root": parent}})
    command = [str(Path(sys.executable).parent / launcher), "program.py", str(tmp_path), ending]
    done = subprocess.run(command, cwd=tmp_path, env=current, capture_output=True, text=True, timeout=90, check=False)
    events = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    kinds = [(event["eventType"], event["job"]["name"]) for event in events]
    if ending == "die":
        assert done.returncode == 1
        expected = [("START", "program"), ("FAIL", "program")]
    else:
        assert done.returncode == 0, done.stderr[-2000:]
        expected = [
            ("RUNNING", "package")
        ]  # what of the run's reads was seen, which the package's own run is told at the end
        (covered,) = [event for event in events if event["eventType"] == "RUNNING"]
        assert "headwater_coverage" in covered["run"]["facets"]
    name = "program" if ending == "die" else "package"
    assert sorted(kinds) == sorted(
        [*expected, *((kind, f"{name}.{out}") for out in "ab" for kind in ("START", "COMPLETE"))]
    )
    if launcher == "spark-submit":
        assert events[0]["run"]["facets"]["parent"]["run"]["runId"] == "01890000-0000-7000-8000-000000000001"
        assert events[0]["job"]["namespace"] == "ns"


@pytest.mark.filterwarnings("ignore:The return type of DataFrame.toJSON:UserWarning")
def test_an_rdd_of_a_data_frame_names_what_the_data_frame_names(
    spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path
) -> None:
    """A single file, a folder of folders, a table: the same datasets as without the RDD."""
    (tmp_path / "one.txt").write_text("a\n")
    spark.range(2).write.parquet(str(tmp_path / "tree/deep"))
    frames = {
        "file": spark.read.text(str(tmp_path / "one.txt")),
        "tree": spark.read.option("recursiveFileLookup", "true").parquet(str(tmp_path / "tree")),
        "table": spark.table("people"),
        "json": spark.read.text(str(tmp_path / "one.txt")),
    }
    named = {}
    for name, frame in frames.items():
        attachment.flush()
        kept.events.clear()
        frame.write.parquet(str(tmp_path / f"plain-{name}"))
        rdd = frame.toJSON() if name == "json" else frame.rdd
        rdd.map(str).saveAsTextFile(str(tmp_path / f"rdd-{name}"))
        assert attachment.flush()
        ends = [event for event in kept.events if event["eventType"] == "COMPLETE" and event["outputs"]]
        named[name] = [sorted(one["name"] for one in event["inputs"]) for event in ends]
    assert all(len(both) == 2 and both[0] == both[1] and both[0] for both in named.values()), named
