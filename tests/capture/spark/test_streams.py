"""A streaming query is one run for as long as it goes on, and says how far it is."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from headwater.capture.spark.streams import offsets

pytestmark = [
    pytest.mark.spark,
    # pyspark leaves sockets of its gateway to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SCHEMA = "id int, name string, city string, age int"


@pytest.fixture
def events(attachment: Any, kept: Any, land: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    attachment.flush()
    kept.events.clear()
    attachment._application._reported.clear()
    monkeypatch.setattr(attachment._collector.streams, "_milliseconds", 0)
    return kept.events


@pytest.fixture
def people(land: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(land / "people", tmp_path / "people"))


def source(spark: Any, people: Path) -> Any:
    """Two rows in some files, one file a micro-batch."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(people))


def files(people: Path) -> int:
    return len(list(people.glob("*.parquet")))


def about(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in events if one["job"]["name"] == f"capture.{name}"]


def far(event: dict[str, Any], side: str) -> list[tuple[str, int]]:
    (one,) = event[side]
    facets = {**one.get("inputFacets", {}), **one.get("outputFacets", {})}
    return [(at["partition"], at["offset"]) for at in facets.get("headwater_offsets", {}).get("offsets", [])]


def test_one_run_from_its_first_batch_until_it_is_stopped(
    spark: Any, attachment: Any, events: Any, people: Path, tmp_path: Path
) -> None:
    query = (
        source(spark, people).writeStream.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "out"))
    )
    query.processAllAvailable()
    assert attachment.flush()
    assert about(events, "out")[-1]["eventType"] == "RUNNING"  # it waits for more
    query.stop()
    assert attachment.flush()
    told = about(events, "out")
    assert [one["eventType"] for one in told] == ["START", *["RUNNING"] * files(people), "COMPLETE"]
    assert len({one["run"]["runId"] for one in told}) == 1
    assert [far(one, "inputs") for one in told[1:]] == [
        [("logOffset", at)] for at in (*range(files(people)), files(people) - 1)
    ]
    assert [far(one, "outputs") for one in told] == [
        [("batch", at)] for at in (0, *range(files(people)), files(people) - 1)
    ]
    assert {one["job"]["facets"]["jobType"]["processingType"] for one in told} == {"STREAMING"}
    assert told[0]["outputs"][0]["facets"]["columnLineage"]["fields"]["id"]
    facet = told[-1]["run"]["facets"]["headwater_spark"]
    assert (facet["queryId"], facet["queryRunId"]) == (query.id, query.runId)


def test_all_that_a_function_writes_is_one_run_for_each_dataset(
    spark: Any, attachment: Any, events: Any, people: Path, tmp_path: Path
) -> None:
    def write(batch: Any, number: int) -> None:
        batch.select("id").write.mode("append").parquet(str(tmp_path / "ids"))
        batch.select("name").write.mode("append").parquet(str(tmp_path / "names"))

    source(spark, people).writeStream.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
    assert attachment.flush()
    for name in ("ids", "names"):
        told = about(events, name)
        assert [one["eventType"] for one in told] == ["START", *["RUNNING"] * files(people), "COMPLETE"]
        assert len({one["run"]["runId"] for one in told}) == 1
        rows = [one["outputs"][0]["outputFacets"].get("outputStatistics", {}).get("rowCount") for one in told]
        assert sum(count or 0 for count in rows) == 2


def test_what_fails_says_why_and_what_it_had_committed(
    spark: Any, attachment: Any, events: Any, people: Path, tmp_path: Path
) -> None:
    def write(batch: Any, number: int) -> None:
        batch.write.mode("append").parquet(str(tmp_path / "out"))
        if number == 1:
            raise ValueError("boom")

    with pytest.raises(Exception, match="boom"):
        source(spark, people).writeStream.foreachBatch(write).trigger(availableNow=True).start().awaitTermination()
    assert attachment.flush()
    told = about(events, "out")
    assert [one["eventType"] for one in told] == ["START", "RUNNING", "FAIL"]
    assert far(told[-1], "inputs") == [("logOffset", 0)]
    assert "boom" in told[-1]["run"]["facets"]["errorMessage"]["stackTrace"]


def test_each_start_is_a_run_of_its_own(spark: Any, attachment: Any, events: Any, people: Path, tmp_path: Path) -> None:
    for _ in range(2):
        writer = source(spark, people).writeStream.option("checkpointLocation", str(tmp_path / "c"))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        spark.range(1).selectExpr("cast(id as int) id").write.mode("append").parquet(str(people))
    assert attachment.flush()
    told = about(events, "out")
    assert len({one["run"]["runId"] for one in told}) == 2
    assert [one["eventType"] for one in told].count("COMPLETE") == 2


def test_a_source_without_new_data_stays_an_input(spark: Any, attachment: Any, events: Any, tmp_path: Path) -> None:
    """Each micro-batch has one of two sources: in the plan of a batch, the other one is empty rows."""

    def rows(side: str) -> None:
        spark.sql("select 1 as id, 'a' as name").write.mode("append").parquet(str(tmp_path / side))

    rows("left")
    (tmp_path / "right").mkdir()
    left, right = (
        spark.readStream.schema("id int, name string").parquet(str(tmp_path / side)) for side in ("left", "right")
    )
    both = left.union(right.selectExpr("id", "upper(name)")).where("id > 0")
    query = both.writeStream.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "out"))
    query.processAllAvailable()
    rows("right")
    query.processAllAvailable()
    rows("left")
    query.processAllAvailable()
    query.stop()
    assert attachment.flush()
    told = about(events, "out")
    named = [sorted(Path(one["name"]).name for one in event["inputs"]) for event in told]
    assert named == [["left"], ["left"], *[["left", "right"]] * 3]
    lineage = told[-1]["outputs"][0]["facets"]["columnLineage"]
    fed = {
        column: sorted((Path(one["name"]).name, one["transformations"][0]["subtype"]) for one in made["inputFields"])
        for column, made in lineage["fields"].items()
    }
    assert fed == {
        "id": [("left", "IDENTITY"), ("right", "IDENTITY")],
        "name": [("left", "IDENTITY"), ("right", "TRANSFORMATION")],
    }
    assert sorted(Path(one["name"]).name for one in lineage["dataset"]) == ["left", "right"]
    assert far(told[-1] | {"inputs": told[-1]["inputs"][:1]}, "inputs")  # offsets too


def test_a_stream_may_be_silent_between(
    spark: Any, attachment: Any, events: Any, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachment._collector.streams, "_milliseconds", 3_600_000)
    writer = source(spark, people).writeStream.option("checkpointLocation", str(tmp_path / "c"))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    assert attachment.flush()
    assert [one["eventType"] for one in about(events, "out")] == ["START", "COMPLETE"]
    assert far(about(events, "out")[-1], "outputs")[0][1] > 0


@pytest.mark.parametrize(
    ("read_to", "datasets", "expected"),
    [
        # Each topic of a Kafka source is a dataset.
        (
            {"KafkaV2[Subscribe[a,b]]": {"a": {"0": 5, "1": 6}, "b": {"0": 7}}},
            [("kafka://h:1", "a"), ("kafka://h:1", "b"), ("file", "/x")],
            {
                ("kafka://h:1", "a"): [
                    {"topic": "a", "partition": "0", "offset": 5},
                    {"topic": "a", "partition": "1", "offset": 6},
                ],
                ("kafka://h:1", "b"): [{"topic": "b", "partition": "0", "offset": 7}],
            },
        ),
        # Two folders differ by their paths; a number is a number.
        (
            {"FileStreamSource[file:/in/a]": {"logOffset": 3}, "FileStreamSource[file:/in/b]": {"logOffset": 9}},
            [("file", "/in/b"), ("file", "/in/a")],
            {
                ("file", "/in/a"): [{"partition": "logOffset", "offset": 3}],
                ("file", "/in/b"): [{"partition": "logOffset", "offset": 9}],
            },
        ),
        ({"Mine": 12}, [("spark", "mine")], {("spark", "mine"): [{"partition": "0", "offset": 12}]}),
        # Delta's position has more than numbers in it.
        (
            {"DeltaSource[s3://b/t]": {"reservoirId": "x", "reservoirVersion": 4, "isStartingVersion": False}},
            [("s3://b", "t")],
            {("s3://b", "t"): [{"partition": "reservoirVersion", "offset": 4}]},
        ),
        # It may belong to either of two datasets.
        ({"Mine": 12}, [("spark", "mine"), ("file", "/static")], {}),
        ({"Mine": None}, [("spark", "mine")], {}),
        ({"Mine": {}}, [("spark", "mine")], {}),
    ],
)
def test_offsets_go_to_the_dataset_they_are_of(read_to: Any, datasets: Any, expected: Any) -> None:
    assert offsets(read_to, datasets) == expected
