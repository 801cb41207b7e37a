"""The keys that tests of a dbt project prove unique."""

from typing import Any

import pytest

from headwater.capture.dbt.manifest import Manifest
from headwater.capture.dbt.unique_keys import unique_keys


def manifest(name: str, arguments: dict[str, Any], **config: Any) -> Manifest:
    test = {
        "resource_type": "test",
        "name": "t",
        "attached_node": "model.p.a",
        "config": config,
        "test_metadata": {"name": name, "kwargs": arguments},
    }
    return Manifest({"metadata": {"project_name": "p"}, "nodes": {"test.p.t": test}})


@pytest.mark.parametrize(
    ("name", "arguments", "config", "expected"),
    [
        ("unique", {"column_name": "Id"}, {}, (("id",),)),
        ("unique", {"column_name": '"Id"'}, {"severity": "ERROR", "error_if": "!= 0"}, (("id",),)),
        ("unique", {"column_name": "a || '-' || b"}, {}, (("a", "b"),)),
        ("unique", {"column_name": "coalesce(a, '')"}, {}, (("a", "coalesce"),)),
        ("unique_combination_of_columns", {"combination_of_columns": ["b", "A"]}, {}, (("a", "b"),)),
        ("unique", {"column_name": "id"}, {"where": "id > 3"}, None),
        ("unique", {"column_name": "id"}, {"severity": "warn"}, None),
        ("unique", {"column_name": "id"}, {"error_if": "> 10"}, None),
        ("unique", {}, {}, None),
        ("not_null", {"column_name": "id"}, {}, None),
    ],
)
def test_a_key_is_what_a_strict_test_demands(
    name: str, arguments: dict[str, Any], config: dict[str, Any], expected: Any
) -> None:
    assert unique_keys(manifest(name, arguments, **config)).get("model.p.a") == expected
