"""Queries that return the same are written alike, and no others are: read from pairs."""

from pathlib import Path

import pytest
import yaml

from headwater.columns.shape.same_result import written_result

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/columns/same_results.yaml").read_text(encoding="utf-8"))
ORDERS, MORE = ("shop", "orders"), ("shop", "more")


@pytest.mark.parametrize("pair", CASES["same"], ids=[one for _, one in CASES["same"]])
def test_the_same_result_has_one_writing(pair: list[str]) -> None:
    first, second = (written_result(one, "postgres") for one in pair)
    assert first is not None
    assert first == second


@pytest.mark.parametrize("pair", CASES["others"], ids=[one for _, one in CASES["others"]])
def test_another_result_has_another_writing(pair: list[str]) -> None:
    first, second = (written_result(one, "postgres") for one in pair)
    assert first is None or second is None or first != second


def test_a_model_is_read_as_a_part_of_the_text() -> None:
    text = "select id from {} where at > (select max(at) from shop.old)"
    whole = written_result(text.format("raw.orders"), "postgres")
    for orders in ("select * from raw.orders", "{{ config(materialized='view') }} select id, at from raw.orders"):
        models = {("db", *ORDERS): orders, ("db", *MORE): "select * from shop.orders"}
        assert written_result(text.format("shop.orders"), "postgres", models) == whole is not None
        assert written_result(text.format("shop.more"), "postgres", models) == whole
    for other in ("select id from raw.orders limit 3", "select * from raw.orders where id > 1", "{{ config(materialized='incremental') }} select * from raw.orders"):  # fmt: skip
        assert written_result(text.format("shop.orders"), "postgres", {ORDERS: other}) != whole


@pytest.mark.parametrize(
    "text",
    ["insert into t select 1", "select 1; select 2", "with recursive x as (select 1) select * from x", "select ("],
)
def test_what_is_no_single_query_has_no_writing(text: str) -> None:
    assert written_result(text, "postgres") is None
