"""The schemas of our facets in docs/reference/facets.md are those that the server reads by."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.intake.events.instances import Period
from headwater.model import dependents, inheritance, measured, references

PAGE = Path(__file__).parents[2] / "docs/reference/facets.md"
READ = {
    "headwater_usage": measured.Usage,
    "headwater_cost": measured.Cost,
    "headwater_recurrence": measured.Recurrence,
    "headwater_pruning": measured.Pruning,
    "headwater_changes": measured.ObjectChanges,
    "headwater_queries": measured.Queries,
    "headwater_quality": measured.Quality,
    "headwater_period": Period,
    "headwater_references": references.References,
    "headwater_dependents": dependents.Dependents,
    "headwater_inheritance": inheritance.Inheritance,
}


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of a facet, with what it is made of inside of it."""
    (made,), parts = msgspec.json.schema_components([READ[name]], ref_template="{name}")

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return plain(parts[value["$ref"]])
        if "anyOf" in value:
            kinds = [plain(one) for one in value["anyOf"]]
            (kind,) = [one for one in kinds if one.get("type") != "null"]
            return kind | {"type": [kind["type"], "null"]}
        left_out = {"title", "default", "description", "maximum"}
        return {key: plain(one) for key, one in value.items() if key not in left_out}

    return {"$id": f"https://headwater.dev/schema/1-0-0/{name}.json", **plain(made)}


def lines(name: str) -> str:
    """Return a facet's schema as the page has it: a line for each property."""
    told = schema(name)
    properties = ",\n".join(f"    {json.dumps(key)}: {json.dumps(kind)}" for key, kind in told["properties"].items())
    required = f',\n  "required": {json.dumps(told["required"])}' if told.get("required") else ""
    return f'{{\n  "$id": "{told["$id"]}",\n  "type": "object",\n  "properties": {{\n{properties}\n  }}{required}\n}}'


@pytest.mark.parametrize("name", sorted(READ))
def test_the_page_has_the_schema(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
    block = re.search(r"```json\n(.*?)\n```", section, re.DOTALL)
    assert block, f"{name} has no schema; it is\n{lines(name)}"
    found = json.loads(block[1])
    assert {key: found[key] for key in ("$id", "type", "properties")} == {
        key: schema(name)[key] for key in ("$id", "type", "properties")
    }, lines(name)
    assert found.get("required", []) == schema(name).get("required", [])
