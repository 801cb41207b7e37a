"""The declarations that a DAG's author may write, and the errors for anything else."""

from typing import Any

import pytest

from headwater.capture.airflow.makes import Makes, read


def test_a_name_several_and_a_state() -> None:
    found = read(
        {"load": "reads", "count": ["words", Makes("pages", state="estimated")], "say": Makes("said", wait=False)}
    )
    assert found == {
        "load": (Makes("reads"),),
        "count": (Makes("words"), Makes("pages", "estimated")),
        "say": (Makes("said", None, False),),
    }


@pytest.mark.parametrize(
    ("entities", "kind", "words"),
    [
        (["reads"], TypeError, "entities is a list"),
        ({"load": 7}, TypeError, "task 'load' is a int"),
        ({"load": {"entity": "reads"}}, TypeError, "task 'load' is a dict"),
        ({"load": []}, ValueError, "task 'load' is an empty list"),
        ({"load": ["a", 7]}, TypeError, "task 'load' has 7"),
        ({"load": ""}, TypeError, "task 'load' has ''"),
        ({"load": ["a", "a"]}, ValueError, "task 'load' names an entity twice"),
        ({"load": ["a", Makes("b", wait=False)]}, ValueError, "set `wait` alike for all that the task makes"),
    ],
)
def test_mistakes_name_the_task(entities: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        read(entities)
    assert words in str(caught.value)
