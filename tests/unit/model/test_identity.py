"""The dataset that a reported name means. The cases are data: `told` and `placed` are namespace and name; without `placed` the name
stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headwater.errors import InvalidQuestion
from headwater.model.identity import Identity, Rule, checked
from headwater.model.names import DatasetName

FILES = sorted((Path(__file__).parents[2] / "cases/identity").glob("*.json"))
CASES = [(file.stem, case) for file in FILES for case in json.loads(file.read_text(encoding="utf-8"))]


def rules(case: dict[str, Any]) -> tuple[Rule, ...]:
    return checked(tuple(Rule(**rule) for rule in case.get("rules", ())))


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{file}: {case['id']}" for file, case in CASES])
def test_case(case: dict[str, Any]) -> None:
    identity = Identity(rules(case))
    placed = identity.place(DatasetName(*case["told"]))
    assert [placed.name.namespace, placed.name.name] == case["placed"]
    assert dict(placed.part) == case.get("part", {})
    again = identity.place(placed.name)
    assert again.name == placed.name
    assert not again.part


segments = st.sampled_from(
    ["", "a", "t", "x y", "2019", "08", "01", "23", "2019-08", "2019-08-01", "20190801", "k=v", "k=", "=v", "date=1",
     "t_20190801", "t$20190801", "t-2019-08-01", "t_20190801.csv", "t_20190801_20190802.csv", "o.csv", "part-0.orc", "7.x"]
)  # fmt: skip
spaces = st.sampled_from(
    ["file", "file:///", "s3a://b", "s3://b/", "hive", "hive://h", "GCS://x", "x", "://", ""]
) | st.text(max_size=6)
paths = st.builds(lambda parts, mark: mark.join(parts), st.lists(segments, max_size=6), st.sampled_from("//._"))
told = st.builds(DatasetName, spaces, paths | st.text(max_size=8))
texts = st.sampled_from(["a", "ab", "b", "/a", "/t", "/t/2019-08-01", "s3://b", "file", "", "x", "2", "t"])
ruled = st.lists(
    st.builds(
        Rule, st.sampled_from(["namespace", "name", "keep"]), texts, texts, st.sampled_from(["*", "file", "s3*"])
    ),
    max_size=4,
)


@given(told, ruled)
@example(DatasetName("x", "abb"), [Rule("name", "ab", "a")])
@example(DatasetName("x", "a1"), [Rule("name", "b", "c"), Rule("name", "a", "b")])
@example(DatasetName("file", "/t/2019-08-01/k=v"), [])
@example(DatasetName("file", "a//2019-08"), [])
def test_placing_what_is_placed_changes_nothing(name: DatasetName, some: list[Rule]) -> None:
    """A placed name stays, by any rules, also those that `checked` refuses."""
    identity = Identity(tuple(some))
    placed = identity.place(name)
    again = identity.place(placed.name)
    assert again.name == placed.name
    assert not again.part


@given(told, ruled)
def test_the_steps_end_where_the_name_is_placed(name: DatasetName, some: list[Rule]) -> None:
    placed, steps = Identity(tuple(some)).explain(name)
    assert placed.name == (steps[-1].name if steps else name)
    folds = [step for step in steps if step.by == "fold"]
    assert {value for _, value in placed.part} == {value for step in folds for _, value in step.part}


@given(told, ruled)
def test_rules_that_are_kept_settle(name: DatasetName, some: list[Rule]) -> None:
    try:
        kept = checked(tuple(some))
    except InvalidQuestion:
        assume(False)
    assert checked(kept) == kept


@pytest.mark.parametrize(
    ("some", "words"),
    [
        ([Rule("name", "")], "rule 0: match must not be empty"),
        ([Rule("name", "x", "y"), Rule("name", "a", "ab")], "rule 1: 'ab' begins with 'a'"),
        ([Rule("keep", "a", "b")], "rule 0: a keep rule has no `to`"),
        ([Rule("namespace", "a", "b", "file")], "rule 0: a namespace rule has no `namespace`"),
        ([Rule("name", "a", "bc"), Rule("name", "b", "ad")], "rule 0: goes in a circle with the other rules"),
        ([Rule("namespace", "a", "bc"), Rule("namespace", "b", "ad")], "rule 0: goes in a circle"),
        ([Rule("name", "a\0")], "must not contain a null character"),
    ],
)
def test_rules_without_sense_are_refused(some: list[Rule], words: str) -> None:
    with pytest.raises(InvalidQuestion, match=words.replace("(", r"\(")):
        checked(tuple(some))


def test_a_circle_leaves_the_name_as_it_is_spelled() -> None:
    circle = (Rule("name", "a", "bc"), Rule("name", "b", "ad"))
    placed, steps = Identity(circle).explain(DatasetName("s3a://b/", "a"))
    assert placed.name == DatasetName("s3://b", "a")
    assert [step.by for step in steps] == ["spelling"]
