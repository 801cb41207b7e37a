"""Changes that a question asks about, as data: from SQL, or from `drop`, `rename` and `retype`. Pure but for the names, which the server resolves.

A statement that changes a table (ALTER, DROP, RENAME, SWAP, CREATE OR REPLACE) is a change of its schema. One that writes rows (INSERT, UPDATE,
DELETE, MERGE, TRUNCATE) is a change of values. One that does neither changes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from headwater.errors import InvalidQuestion

Action = Literal[
    "drop_table", "rename_table", "swap_table", "drop_column", "rename_column", "retype_column", "add_column", "unknown", "values"
]  # fmt: skip
Parts = tuple[str, ...]
_EDITS: dict[str, Action] = {
    "DROP": "drop_column", "RENAME": "rename_column", "RETYPE": "retype_column", "ADD": "add_column", "UNKNOWN": "unknown",
}  # fmt: skip


class TableChange(msgspec.Struct, frozen=True):
    """A change of a table, named as the question names it. `column`: "" if it is about the table; `to`: the new name or type."""

    action: Action
    table: str
    column: str = ""
    to: str = ""


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """Exactly one of: `sql` (with its `dialect`), `drop` (`t` or `t.c`), `rename` (`t.c:d`, or `t:u`), `retype` (`t.c:bigint`)."""

    sql: str | None = None
    dialect: str = ""
    drop: str | None = None
    rename: str | None = None
    retype: str | None = None


def split_target(text: str, what: str) -> tuple[str, str]:
    """Split `t.c:d` at its last colon. Raises InvalidQuestion without one."""
    name, colon, to = text.rpartition(":")
    if not colon or not name or not to.strip():
        raise InvalidQuestion(f"{what} {text!r} names no new one: write {what} t.c:d", parameter=what)
    return name, to.strip()


def read_statements(statements: Iterable[Any], columns_of: Any) -> list[TableChange]:
    """Return the changes of analysed statements. `columns_of(table)`: the columns that a table has now, None if they are not known."""
    found: dict[TableChange, None] = {}
    for statement in statements:
        made = {change.table for change in statement.changes if change.action in {"CREATE", "CLONE", "LIKE"}}
        for change in statement.changes:
            for one in _of_table(change):
                found[one] = None
        for flow in statement.flows:
            if flow.target is None:
                continue
            table = ".".join(flow.target)
            if flow.action == "CREATE" or flow.target in made:
                for one in _replaced(table, [output.name for output in flow.columns], columns_of(flow.target)):
                    found[one] = None
            elif flow.action in {"UPDATE", "MERGE"} and all(output.name not in {"", "*"} for output in flow.columns):
                for output in flow.columns:
                    found[TableChange("values", table, output.name)] = None
            else:
                found[TableChange("values", table)] = None
    return list(found)


def _of_table(change: Any) -> list[TableChange]:
    table = ".".join(change.table)
    other = ".".join(change.other) if change.other else ""
    if change.action == "DROP":
        return [TableChange("drop_table", table)]
    if change.action == "RENAME":
        return [TableChange("rename_table", table, to=other)]
    if change.action == "SWAP":
        return [TableChange("swap_table", table, to=other), TableChange("swap_table", other, to=table)]
    if change.action == "TRUNCATE":
        return [TableChange("values", table)]
    if change.action == "ALTER" and any(edit.action == "REPLACE" for edit in change.edits):
        return [TableChange("unknown", table)]
    return [TableChange(_EDITS[edit.action], table, edit.column, edit.to) for edit in change.edits]


def _replaced(table: str, new: Sequence[str], old: Sequence[str] | None) -> list[TableChange]:
    """CREATE OR REPLACE of a table that exists: the columns it loses and gets, and other values in the rest."""
    if old is None or "*" in new:
        return [TableChange("values", table)]
    lower = {name.lower() for name in new}
    kept = {name.lower() for name in old}
    return [
        *(TableChange("drop_column", table, name) for name in old if name.lower() not in lower),
        *(TableChange("add_column", table, name) for name in new if name.lower() not in kept),
        *(TableChange("values", table, name) for name in old if name.lower() in lower),
    ]
