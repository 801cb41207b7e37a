"""Queries that return the same are written alike, and no others are: read from pairs."""

from pathlib import Path

import pytest
import yaml

from headwater.capture.dbt.model_settings import read_model_text
from headwater.columns.shape.same_result import changed_columns, is_reordered, written_result
from headwater.columns.shape.writing import WrittenQuery

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/same_results.yaml").read_text(encoding="utf-8"))
ORDERS, MORE = ("shop", "orders"), ("shop", "more")


def writing(text: str) -> tuple[tuple[str, ...], list[WrittenQuery]] | None:
    """Return the writing of a model's text: its settings, and its queries."""
    model = read_model_text(text, "postgres")
    queries = [one for each in model.queries if (one := written_result(each, "postgres")) is not None]
    return (model.settings, queries) if len(queries) == len(model.queries) else None


@pytest.mark.parametrize("pair", CASES["same"], ids=[one for _, one in CASES["same"]])
def test_the_same_result_has_one_writing(pair: list[str]) -> None:
    first, second = map(writing, pair)
    assert first is not None
    assert first == second


@pytest.mark.parametrize("pair", CASES["others"], ids=[one for _, one in CASES["others"]])
def test_another_result_has_another_writing(pair: list[str]) -> None:
    first, second = map(writing, pair)
    assert first is None or second is None or first != second


@pytest.mark.parametrize("pair", CASES["others"], ids=[one for _, one in CASES["others"]])
def test_another_result_is_no_order_of_rows(pair: list[str]) -> None:
    first, second = (written_result(one, "postgres") for one in pair)
    is_sorted_otherwise = pair[0].startswith(("select a from t order by a", "select -a as a from t order by a"))
    assert first is None or second is None or is_reordered(first, second) is is_sorted_otherwise


@pytest.mark.parametrize("pair", CASES["reordered"], ids=[one for _, one in CASES["reordered"]])
def test_the_same_rows_in_another_order_are_seen(pair: list[str]) -> None:
    first, second = (written_result(one, "postgres") for one in pair)
    assert first is not None
    assert second is not None
    assert first != second
    assert is_reordered(first, second)


@pytest.mark.parametrize("case", CASES["columns"], ids=[one["after"] for one in CASES["columns"]])
def test_an_edit_changes_columns_or_rows(case: dict[str, str]) -> None:
    first, second = (written_result(case[side], "postgres") for side in ("before", "after"))
    assert first is not None
    assert second is not None
    found = changed_columns(first, second)
    assert ("rows" if found is None else " ".join(sorted(found))) == case["changes"]


def test_a_model_is_read_as_a_part_of_the_text() -> None:
    text = "select id from {} where at > (select max(at) from shop.old)"
    whole = written_result(text.format("raw.orders"), "postgres")
    for orders in ("select * from raw.orders", "select id, at from raw.orders"):
        models: dict[tuple[str, ...], str] = {("db", *ORDERS): orders, ("db", *MORE): "select * from shop.orders"}
        assert written_result(text.format("shop.orders"), "postgres", models) == whole is not None
        assert written_result(text.format("shop.more"), "postgres", models) == whole
    for other in ("select id from raw.orders limit 3", "select * from raw.orders where id > 1"):
        assert written_result(text.format("shop.orders"), "postgres", {ORDERS: other}) != whole


@pytest.mark.parametrize(
    "text",
    ["insert into t select 1", "select 1; select 2", "with recursive x as (select 1) select * from x", "select ("],
)
def test_what_is_no_single_query_has_no_writing(text: str) -> None:
    assert written_result(text, "postgres") is None
