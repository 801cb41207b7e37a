"""Results of checks in the facets of a step's inputs and outputs."""

from headwater.client import event
from headwater.client.entries import Entries
from headwater.client.given import plain, text
from headwater.client.item import Item

_FACET = "dataQualityAssertions"


def add_result(
    inputs: Entries,
    outputs: Entries,
    item: Item,
    name: str,
    success: bool,
    *,
    column: str | None = None,
    expected: object = None,
    actual: object = None,
    severity: str = "error",
) -> None:
    """Add the result of a check to the output, if the item is one, else to the input. It replaces an earlier one of the same check."""
    found = outputs.find(item)
    entries = inputs if found is None else outputs
    entry = entries.add(item) if found is None else found
    check = {"assertion": text(name)} | ({} if column is None else {"column": text(column)})
    more = {"expected": expected, "actual": actual, "severity": severity}
    made = {
        "success": bool(success),
        **{field: text(plain(value)) for field, value in more.items() if value is not None},
    }
    before = entry.side_facets.get(_FACET, {}).get("assertions", [])
    others = [one for one in before if {key: one[key] for key in ("assertion", "column") if key in one} != check]
    facet = event.facet("DataQualityAssertionsDatasetFacet", assertions=[*others, check | made])
    entry.tell({}, {_FACET: facet})
    entries.again(entry)
