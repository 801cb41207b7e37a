"""The result of a review: changes of tables, and the texts that notice."""

from __future__ import annotations

from typing import Final

import msgspec

BREAKS, CHANGES, MAY_CHANGE, COSMETIC, NOTHING = "breaks", "changes_values", "may_change", "cosmetic", ""
ORDER: Final = (NOTHING, COSMETIC, MAY_CHANGE, CHANGES, BREAKS)
"""`may_change`: the result is another one only if the data have a row that shows it: one that a filter takes away, a join doubles, a branch meets."""
WORDS: Final = {
    BREAKS: "breaks",
    CHANGES: "changes values",
    MAY_CHANGE: "may change on other data",
    COSMETIC: "cosmetic",
}


class Changed(msgspec.Struct, frozen=True):
    """A change of a table as ALTER would say it. `action`: as `headwater whatif` has it, or `create_table`. `column`: "" for the table."""

    action: str
    table: str
    column: str = ""
    to: str = ""
    place: str = ""


class Affected(msgspec.Struct, frozen=True):
    """A text whose statements notice. `table`: what it makes, "" for a query. `columns`: of its result that change, none for all of it.
    `certain`: false where a part could not be read. `path`: tables from the change to it. `edited`: the change is in this text itself.
    `tier`: of the table, as its dbt project has it, "" for none.
    """

    place: str
    line: int
    table: str
    severity: str
    reason: str
    columns: list[str]
    certain: bool
    edited: bool
    path: list[str]
    tier: str = ""


class Review(msgspec.Struct, frozen=True):
    """`severity`: the worst of all, null if nothing changes. `same`: texts that were edited and mean the same: comments, layout, case."""

    severity: str | None
    changes: list[Changed]
    affected: list[Affected]
    same: list[str]
    texts: int
