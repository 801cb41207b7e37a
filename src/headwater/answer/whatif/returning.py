"""The columns that the RETURNING of a write gives back. Pure.

A reading has no result of a write by itself: the statement is read once more within WITH, where its result is a table like others.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

TableParts = tuple[str, ...]


class ReturnedUse(msgspec.Struct, frozen=True):
    """A use of a column by RETURNING. `certain`: false if the clause could not be read, or the name may be another table's."""

    reason: str
    certain: bool


def find_returned_use(
    statement: Any, column: str, read: Callable[[str], Sequence[Any]], is_changed: Callable[[TableParts | None], bool]
) -> ReturnedUse | None:
    """Return the use that the statement's RETURNING makes of a column of the table for which `is_changed` holds; None if it makes none.

    `read`: the statements of a text, with the columns of its tables as they are before the change. `column`: in any case.
    """
    if not any(map(is_changed, statement.writes)) or "returning" not in statement.text.lower():
        return None
    column = column.lower()
    found = read(statement.text.rstrip(" \n\t;").join(("WITH returned AS (", "\n) SELECT * FROM returned")))
    if len(found) != 1 or found[0].level in {"nothing", "tables"}:
        return ReturnedUse(f"its RETURNING could not be read, and may name {column}", False)
    results = [flow for flow in found[0].flows if flow.target is None]
    inputs = [one for flow in results for output in flow.columns for one in output.inputs]
    inputs += [one for flow in results for output in flow.columns for _, some in output.fields for one in some]
    inputs += [one for flow in results for one in flow.rows]
    if any(one.field.split(".")[0].lower() == column and is_changed(one.table) for one in inputs):
        return ReturnedUse(f"it returns {column}", True)
    if any(one.name.split(".")[-1].lower() == column for one in found[0].unresolved):
        return ReturnedUse(f"it may return {column}", False)
    return None
