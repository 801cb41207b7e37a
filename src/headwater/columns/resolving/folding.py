"""Inputs of one output folded: several fields of one column are one input, with the path they agree on, or with all of them."""

from headwater.columns.result import Input, TableName


def _together(one: Input, other: Input) -> Input:
    """One input for two of one column, with the path they agree on, or with both."""
    bits = one.kinds | other.kinds
    if one.path == other.path and not (one.paths or other.paths):
        return Input(one.table, one.field, bits, one.path)
    found: dict[str, int] = {}
    for path, kinds in (*(one.paths or ((one.path, one.kinds),)), *(other.paths or ((other.path, other.kinds),))):
        found[path] = found.get(path, 0) | kinds
    return Input(one.table, one.field, bits, "", tuple(sorted(found.items())))


def folded(found: list[Input]) -> list[Input]:
    """One input for each column; its path when all agree on it."""
    by_column: dict[tuple[TableName, str], Input] = {}
    for one in found:
        known = by_column.get((one.table, one.field))
        if known is not None:
            one = _together(known, one)  # noqa: PLW2901
        by_column[one.table, one.field] = one
    return list(by_column.values())
