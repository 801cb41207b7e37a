"""The reads that capture could not trace, or only in part: the run says so."""

from pathlib import Path
from typing import Any

import pytest

from headwater.capture.spark import datasets, origins, rdds

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def covered(kept: Any, attachment: Any, write: Any) -> dict[str, Any]:
    """The coverage that the run of a write ends with."""
    attachment.flush()
    kept.events.clear()
    write()
    assert attachment.flush()
    (end,) = [event for event in kept.events if event["eventType"] == "COMPLETE"]
    found = end["run"]["facets"]["headwater_coverage"]
    return {key: value for key, value in found.items() if not key.startswith("_")}


def test_tables_rdds_and_what_fails(
    spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = spark.table("people")
    made = people.rdd.map(lambda row: (row.id,)).toDF("id int")
    origins._frames.clear()  # as of an RDD that the JVM made of a DataFrame: its files are followed
    both = made.join(people, "id")
    assert covered(kept, attachment, lambda: both.write.parquet(str(tmp_path / "a"))) == {
        "reads": 2, "traced": 1, "throughFunction": 1, "notSeen": 0, "reasons": [], "limits": [], "written": 1,
    }  # fmt: skip

    def broken(rdd: Any, coverage: Any) -> Any:
        raise RuntimeError("no such method")

    with monkeypatch.context() as patch:
        patch.setitem(rdds._READERS, "FileScanRDD", broken)
        found = covered(kept, attachment, lambda: both.write.parquet(str(tmp_path / "b")))
    assert (found["reads"], found["traced"], found["throughFunction"], found["notSeen"]) == (2, 1, 0, 1)
    assert found["reasons"] == [{"what": "an RDD (FileScanRDD)", "why": "RuntimeError: no such method"}]

    with monkeypatch.context() as patch:
        patch.setattr(rdds, "MOST_RDDS", 1)
        found = covered(kept, attachment, lambda: made.write.parquet(str(tmp_path / "c")))
    assert found["limits"] == ["only 1 RDDs were followed; 1 or more were not"]


def test_an_input_that_is_no_file_is_said(spark: Any, attachment: Any, kept: Any, tmp_path: Path) -> None:
    url = "jdbc:derby:memory:coverage;create=true"
    spark.range(3).write.jdbc(url, "APP.N")
    made = spark.read.jdbc(url, "APP.N").rdd.map(tuple).toDF("n long")
    found = covered(kept, attachment, lambda: made.write.parquet(str(tmp_path / "known")))
    assert (found["reads"], found["throughFunction"]) == (1, 1)  # the DataFrame names its table
    origins._frames.clear()
    found = covered(kept, attachment, lambda: made.write.parquet(str(tmp_path / "out")))
    assert (found["reads"], found["notSeen"]) == (1, 1)
    assert found["reasons"][0]["why"] == "it reads something else than files"


def test_the_application_sums(spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path) -> None:
    attachment.flush()
    whole = attachment._application.coverage
    before = (whole.traced, whole.written)
    spark.table("people").select("id").collect()
    spark.table("people").write.parquet(str(tmp_path / "out"))
    attachment.flush()
    assert (whole.traced - before[0], whole.written - before[1]) == (2, 1)


class Absent:
    """A table of a source in whose class a method is missing, and another fails."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def __getattr__(self, name: str) -> Any:
        def method() -> Any:
            if name == "properties":
                raise self.failure
            if name in {"jdbcOptions", "fileIndex"}:
                raise ValueError(f"py4j.Py4JException: Method {name}([]) does not exist")
            return self if name == "getClass" else "Unheard"

        return method


def test_a_table_that_fails_to_tell_its_place_is_said() -> None:
    catalog = datasets.Catalog(None)
    (found,) = datasets.v2_table(
        Absent(ValueError("py4j.Py4JException: Method properties([]) does not exist")), [], catalog
    )
    assert (found.key, catalog.coverage.limits) == (("spark", "Unheard"), [])
    datasets.v2_table(Absent(RuntimeError("the catalog is away")), [], catalog)
    assert catalog.coverage.limits == ["not read: the place of a Unheard: RuntimeError: the catalog is away"]


def test_folders_that_are_not_named_are_said(
    spark: Any, attachment: Any, kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [str(tmp_path / f"in{number}" / "x") for number in range(2)]
    for one in many:
        spark.range(1).write.parquet(one)
    with monkeypatch.context() as patch:
        patch.setattr(datasets, "MOST_PATHS", 1)
        found = covered(kept, attachment, lambda: spark.read.parquet(*many).write.parquet(str(tmp_path / "out")))
    assert found["limits"] == ["of 2 folders that one read has, 1 are named"]
