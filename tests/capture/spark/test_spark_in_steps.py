"""Spark's queries inside a step of the program: they are its children, however late Spark reports them."""

from pathlib import Path
from typing import Any

import pytest

import headwater
from stepping import telling

pytestmark = pytest.mark.spark


def test_a_query_is_a_child_of_the_step_it_ran_in(
    spark: Any, attachment: Any, kept: Any, land: Path, tmp_path: Path
) -> None:
    before = len(kept.events)
    people = spark.read.parquet(str(land / "people"))
    with telling(tmp_path):
        people.write.parquet(str(tmp_path / "none"))
        with headwater.step("outer", namespace="meter") as outer:
            with headwater.step("first") as first:
                people.write.parquet(str(tmp_path / "one"))
            with headwater.step("second") as second:
                people.write.parquet(str(tmp_path / "two"))
                people.toPandas()
            people.write.parquet(str(tmp_path / "three"))
        people.write.parquet(str(tmp_path / "four"))
    attachment.flush()
    told = kept.events[before:]
    parents = {
        each["outputs"][0]["name"].rsplit("/", 1)[-1]: each["run"]["facets"]["parent"]["run"]["runId"]
        for each in told
        if each["outputs"]
    }
    application = parents.pop("none")
    assert parents == {"one": first.id, "two": second.id, "three": outer.id, "four": application}
    assert application not in {first.id, second.id, outer.id}
    one = next(each for each in told if each["outputs"] and each["outputs"][0]["name"].endswith("/one"))
    assert (one["job"]["namespace"], one["job"]["name"]) == ("meter", "first.one")
    assert one["run"]["facets"]["parent"]["root"]["run"]["runId"] == outer.id
    read = [each for each in told if not each["outputs"] and each["inputs"]]
    assert [each["run"]["runId"] for each in read] == [second.id], "what the driver read, the step read"
