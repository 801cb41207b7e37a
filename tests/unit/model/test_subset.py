"""The parts of a dataset that every kind of `subset` condition names."""

import json
from typing import Any

import pytest

from headwater.model import facets

FIELD = {"type": "field", "field": "day"}


def compare(value: Any, comparison: str = "EQUAL", field: str = "day") -> dict[str, Any]:
    return {
        "type": "compare",
        "left": {"type": "field", "field": field},
        "right": {"type": "literal", "value": value},
        "comparison": comparison,
    }


def binary(left: dict[str, Any], operator: str, right: dict[str, Any]) -> dict[str, Any]:
    return {"type": "binary", "left": left, "right": right, "operator": operator}


def partitions(*days: str) -> dict[str, Any]:
    return {"type": "partition", "partitions": [{"dimensions": {"day": day}} for day in days]}


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        (compare("2024-03-01"), [{"day": "2024-03-01"}]),
        ({"type": "compare", "left": {"value": 7}, "right": FIELD, "comparison": "equal"}, [{"day": "7"}]),
        (compare("2024-03-01", "GREATER_THAN"), []),
        ({"type": "compare", "left": FIELD, "right": {"field": "other"}, "comparison": "EQUAL"}, []),
        (binary(compare("1"), "OR", compare("2")), [{"day": "1"}, {"day": "2"}]),
        (binary(compare("1"), "OR", compare("2", "LESS_THAN")), []),
        (binary(compare("1"), "AND", compare("EU", field="region")), [{"day": "1", "region": "EU"}]),
        (binary(partitions("1", "2"), "AND", compare("2")), [{"day": "2"}]),
        (binary(compare("1"), "AND", compare("x", "NOT_EQUAL", "region")), [{"day": "1"}]),
        (binary(compare("1"), "AND", compare("2")), []),
        (
            binary(binary(compare("1"), "OR", compare("2")), "AND", compare("EU", field="region")),
            [{"day": "1", "region": "EU"}, {"day": "2", "region": "EU"}],
        ),
        ({"type": "location", "locations": ["/a/1"]}, [{"location": "/a/1"}]),
    ],
)
@pytest.mark.parametrize("side", ["inputCondition", "outputCondition"])
def test_a_condition_names_all_parts_that_it_admits(
    condition: dict[str, Any], parts: list[dict[str, str]], side: str
) -> None:
    assert facets.subset(json.dumps({side: condition}).encode()) == parts


def test_a_product_of_long_lists_is_narrowed_by_the_shorter_one_alone() -> None:
    days = partitions(*map(str, range(40)))
    regions = {"type": "partition", "partitions": [{"dimensions": {"region": str(n)}} for n in range(30)]}
    assert len(facets.subset(json.dumps({"inputCondition": binary(days, "AND", regions)}).encode())) == 30


def test_a_condition_of_great_depth_names_no_part() -> None:
    condition = compare("1")
    for _ in range(100):
        condition = binary(condition, "OR", compare("2"))
    assert facets.subset(json.dumps({"inputCondition": condition}).encode()) == []
