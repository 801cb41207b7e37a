"""The log of an object where something comes back: a schema, a column, a table, a name. Events arrive in any order."""

import itertools
from typing import Any
from urllib.parse import quote

import pytest
from tests.api.history.test_object_log import BLAME, OBJECTS, N, change, dataset, told
from tests.api.usage.measures import ask, send
from tests.events import run_event

A, B, C = {"id": "int"}, {"id": "int", "note": "text"}, {"id": "bigint"}
ADDED, DROPPED = ("column_added", "note"), ("column_dropped", "note")


def reported(way: str, day: int, columns: dict[str, str]) -> dict[str, Any]:
    """An event that gives the schema of `t`: about the dataset itself, of a run that writes it, or of one that reads it."""
    event = dataset("t", day, columns=columns)
    if way == "dataset":
        return event
    sides = {"inputs": [event["dataset"]]} if way == "input" else {"outputs": [event["dataset"]]}
    return run_event("COMPLETE", day, "job", at=event["eventTime"], **sides)


def seen(client: Any, name: str = "t") -> list[tuple[str, str, int]]:
    """The changes, oldest first: what, of which column, and the day."""
    changes = ask(client, OBJECTS, node=f"dataset:{N}:{name}")["changes"]
    return [(one["action"], one["column"], int(one["at"][8:10])) for one in reversed(changes)]


@pytest.mark.parametrize("way", ["dataset", "input", "output"])
@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ({1: A, 2: B, 3: A}, [(*ADDED, 2), (*DROPPED, 3)]),
        ({1: A, 2: A, 4: B, 5: B, 8: A, 9: A, 20: A}, [(*ADDED, 4), (*DROPPED, 8)]),
        ({1: A, 2: B, 3: A, 4: B}, [(*ADDED, 2), (*DROPPED, 3), (*ADDED, 4)]),
        ({1: A, 2: B, 4: A, 6: B, 8: A, 10: B, 12: B, 14: A, 15: A},
         [(*ADDED, 2), (*DROPPED, 4), (*ADDED, 6), (*DROPPED, 8), (*ADDED, 10), (*DROPPED, 14)]),
        ({1: A, 2: C, 3: A}, [("column_retyped", "id", 2), ("column_retyped", "id", 3)]),
        ({1: A, 2: B, 3: B}, [(*ADDED, 2)]),
        ({1: B, 2: A, 3: C, 4: B}, [(*DROPPED, 2), ("column_retyped", "id", 3), ("column_retyped", "id", 4), (*ADDED, 4)]),
    ],
)  # fmt: skip
def test_a_schema_that_comes_back_is_a_change(
    client: Any, way: str, days: dict[int, dict[str, str]], expected: list[tuple[str, str, int]]
) -> None:
    events = [reported(way, day, columns) for day, columns in days.items()]
    # Out of order, and one at a time: what is folded must not depend on it.
    for event in events[1::2] + events[::-2]:
        send(client, event)
    for event in events:
        send(client, event)
    assert sorted(seen(client), key=lambda one: (one[2], one[1])) == sorted(expected, key=lambda one: (one[2], one[1]))


def test_the_history_of_schemas_has_each_stretch(client: Any) -> None:
    send(client, *(reported("input", day, columns) for day, columns in {1: A, 2: A, 4: B, 5: B, 8: A, 9: A}.items()))
    found = ask(client, f"/api/v2/datasets/{quote(N, safe='')}/t/schema-history")["schemas"]
    spans = [(len(one["fields"]), int(one["first_at"][8:10]), int(one["last_at"][8:10])) for one in reversed(found)]
    assert [span[:2] for span in spans] == [(1, 1), (2, 4), (1, 8)]
    assert spans[2][2] == 9


def test_any_order_of_arrival_gives_one_log(client: Any) -> None:
    """Two schemas that alternate over five days, in some orders in which the events may come; a table for each."""
    events = [reported("dataset", day, columns) for day, columns in enumerate((A, B, A, B, A), 1)]
    for number, order in enumerate(itertools.islice(itertools.permutations(events), 0, None, 11)):
        for event in order:
            send(client, event | {"dataset": event["dataset"] | {"name": f"t{number}"}})
        assert seen(client, f"t{number}") == [(*ADDED, 2), (*DROPPED, 3), (*ADDED, 4), (*DROPPED, 5)], order


def test_blame_of_an_earlier_time_knows_the_schema_that_held_then(client: Any) -> None:
    send(client, *(reported("dataset", day, columns) for day, columns in {1: B, 5: A, 9: B}.items()))
    node = f"dataset:{N}:t"

    def columns(as_of: str | None = None) -> dict[str, tuple[str | None, str]]:
        given = {"as_of": f"2026-03-{as_of}T13:00:00Z"} if as_of else {}
        return {
            one["column"]: (one["type"], (one["seen_since"] or "")[8:10])
            for one in ask(client, BLAME, node=node, **given)["columns"]
        }

    assert columns("03") == {"id": ("int", "01"), "note": ("text", "01")}
    assert columns("06") == {"id": ("int", "01")}
    assert columns() == {"id": ("int", "01"), "note": ("text", "09")}


def test_a_column_that_is_dropped_and_added_again(client: Any) -> None:
    send(client, dataset("t", 9, change(1, "created"), change(2, "added", column="note"), change(4, "dropped_column", "bob", column="note"),
                         change(6, "added", "eve", column="note")))  # fmt: skip
    assert [one[0] for one in seen(client)] == ["created", "column_added", "column_dropped", "column_added"]
    (note,) = ask(client, BLAME, node=f"dataset:{N}:t", column="note")["columns"]
    assert (note["change"]["by"], note["change"]["at"][8:10]) == ("eve", "06")


def test_a_table_that_is_dropped_and_made_again_has_not_the_columns_of_the_old_one(client: Any) -> None:
    send(client, dataset("t", 9, change(1, "created"), change(2, "added", column="old"), change(4, "dropped", "bob"), change(6, "created", "eve"),
                         change(7, "added", "eve", column="new")))  # fmt: skip
    assert [one[0] for one in seen(client)] == ["created", "column_added", "dropped", "created", "column_added"]
    assert [one["column"] for one in ask(client, BLAME, node=f"dataset:{N}:t")["columns"]] == ["new"]


def test_a_table_that_is_renamed_and_back_again_has_one_log(client: Any) -> None:
    send(client,
         dataset("t", 9, change(1, "created"), change(2, "renamed_to", other="u"), change(5, "renamed_from", "bob", other="u")),
         dataset("u", 9, change(2, "renamed_from", other="t"), change(3, "added", column="note"), change(5, "renamed_to", "bob", other="t")))  # fmt: skip
    found = ask(client, OBJECTS, node=f"dataset:{N}:t")
    assert [(one[0], one[1]) for one in reversed(told(found))] == [
        ("created", "t"), ("renamed", "u"), ("column_added", "u"), ("renamed", "t"),
    ]  # fmt: skip
    assert found["names"] == ["t", "u"]
    (note,) = ask(client, BLAME, node=f"dataset:{N}:t", column="note")["columns"]
    assert note["change"]["by"] == "ann"


def test_swapped_tables_take_their_logs_along(client: Any) -> None:
    """Swapped once: each has the other's past. Swapped twice: each has its own again, and both swaps."""
    once = change(5, "swapped", "bob", other="u"), change(5, "swapped", "bob", other="t")
    send(client, dataset("t", 6, change(1, "created"), change(2, "added", column="of_t"), once[0]),
         dataset("u", 6, change(1, "created", "eve"), change(3, "added", "eve", column="of_u"), once[1]))  # fmt: skip
    assert [(one[0], one[2]) for one in reversed(told(ask(client, OBJECTS, node=f"dataset:{N}:t")))] == [
        ("created", None), ("column_added", "of_u"), ("swapped", None),
    ]  # fmt: skip
    assert [one["column"] for one in ask(client, BLAME, node=f"dataset:{N}:t")["columns"]] == ["of_u"]
    send(client, dataset("t", 9, change(1, "created"), change(2, "added", column="of_t"), once[0], change(7, "swapped", other="u")),
         dataset("u", 9, change(1, "created", "eve"), change(3, "added", "eve", column="of_u"), once[1], change(7, "swapped", other="t")))  # fmt: skip
    for name, column in (("t", "of_t"), ("u", "of_u")):
        found = ask(client, OBJECTS, node=f"dataset:{N}:{name}")
        assert [one[0] for one in reversed(told(found))] == ["created", "column_added", "swapped", "swapped"], name
        assert [one["column"] for one in ask(client, BLAME, node=f"dataset:{N}:{name}")["columns"]] == [column]
