"""Column edges in one canonical form, so that an oracle and the engine can be compared: the form of tests/cases/columns.

A mapping from "table.column" to its kinds in a fixed order: the strongest direct one, then every indirect one ("AGGREGATION FILTER"), each
with " masked" behind it where it is. Fields inside a column count as the column.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

ORDER = ("IDENTITY", "TRANSFORMATION", "AGGREGATION", "CONDITIONAL", "FILTER", "GROUP_BY", "JOIN", "SORT", "WINDOW")
DIRECT = ORDER[:3]
Inputs = dict[str, str]


class Edges(msgspec.Struct):
    """`columns`: each output in its place, its name and its inputs; `rows`: what decides about all rows."""

    columns: list[tuple[str, Inputs]]
    rows: Inputs


def kinds(found: Iterable[tuple[str, bool]]) -> str:
    """(subtype, masked) pairs, settled: of the direct ones the strongest, masked when any of that strength is."""
    pairs = set(found)
    direct = [pair for pair in pairs if pair[0] in DIRECT]
    kept = [max(direct, key=lambda pair: (ORDER.index(pair[0]), pair[1]))] if direct else []
    kept += sorted((pair for pair in pairs if pair[0] not in DIRECT), key=lambda pair: (ORDER.index(pair[0]), pair[1]))
    return " ".join(subtype + (" masked" if masked else "") for subtype, masked in kept)


def column_of(table: str, field: str) -> str:
    return f"{table}.{field.partition('.')[0]}".lower()


def direct(inputs: Mapping[str, str]) -> Inputs:
    """The direct part of each."""
    return {column: first for column, said in inputs.items() if (first := said.split()[0]) in DIRECT}


def of_flow(flow: Any) -> Edges:
    """Return the engine's edges of one flow."""
    return Edges([(output.name.lower(), of_inputs(output.inputs)) for output in flow.columns], of_inputs(flow.rows))


def of_inputs(inputs: Iterable[Any]) -> Inputs:
    found: dict[str, set[tuple[str, bool]]] = {}
    for item in inputs:
        said = found.setdefault(column_of(item.table[-1] if item.table else "?", item.field), set())
        said |= {(how.subtype, how.masking) for how in item.transformations}
    return {column: kinds(said) for column, said in sorted(found.items())}


def by_name(found: Edges) -> Edges:
    """The columns of a write in the order of their names, without those that nothing feeds (a column that is not written, or a constant)."""
    return Edges(sorted((name, inputs) for name, inputs in found.columns if inputs), found.rows)


def differences(expected: Edges, actual: Edges, *, names: bool = False) -> list[str]:
    """Return the differences of `actual`, one line each. `names`: the columns must have the same names."""
    lines = []
    if len(expected.columns) != len(actual.columns):
        lines.append(f"{len(actual.columns)} columns, not {len(expected.columns)}")
    for position, ((name, inputs), (other, said)) in enumerate(zip(expected.columns, actual.columns, strict=False)):
        if names and name != other:
            lines.append(f"column {position} is called {other}, not {name}")
        lines += _differing(f"column {position} {name}", inputs, said)
    return lines + _differing("rows", expected.rows, actual.rows)


def _differing(where: str, expected: Inputs, actual: Inputs) -> list[str]:
    return [
        f"{where}: {column} is {actual.get(column) or 'missing'}, expected {expected.get(column) or 'nothing'}"
        for column in sorted(expected.keys() | actual.keys())
        if expected.get(column) != actual.get(column)
    ]
