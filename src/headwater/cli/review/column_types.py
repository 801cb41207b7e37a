"""Types of columns in a review: those that a schema or dbt's catalog.json lists, and casts in the text. Pure.

A cast to a type that holds every value of the old one, and shows it alike, changes no result. It may still break a use of the column that asks for
one type (`columns.shape.typed_uses`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from headwater.answer.whatif.types import is_wider
from headwater.columns.catalog import table_key
from headwater.columns.result import Output, TableName
from headwater.columns.shape.words import Word

Types = Mapping[str | TableName, Mapping[str, str]]

_OPERATORS: Final = frozenset(
    "PLUS DASH STAR SLASH MOD DPIPE DCOLON EQ NEQ LT LTE GT GTE AND OR NOT IS IN LIKE ILIKE BETWEEN CASE COMMA L_BRACKET ARROW DARROW".split()
)


class KnownTypes:
    """The types of columns before a change, by table; a name of fewer parts finds the only table that ends in it."""

    def __init__(self, given: Types) -> None:
        self._exact = {
            table_key(name if isinstance(name, tuple) else tuple(name.split("."))): {
                column.lower(): kind for column, kind in columns.items()
            }
            for name, columns in given.items()
        }
        self._by_last: dict[str, list[TableName]] = {}
        for key in self._exact:
            self._by_last.setdefault(key[-1], []).append(key)

    def of(self, table: TableName, column: str) -> str:
        """Return the type of a column, "" if it is not known."""
        key = table_key(table)
        if key not in self._exact:
            fitting = [
                other
                for other in self._by_last.get(key[-1], ())
                if other[-min(len(key), len(other)) :] == key[-min(len(key), len(other)) :]
            ]
            if len(fitting) != 1:
                return ""
            key = fitting[0]
        return self._exact[key].get(column.lower(), "")

    def of_output(self, target: TableName | None, output: Output) -> str:
        """Return the type of a column that is made: as listed, or that of the one column that it copies."""
        known = self.of(target, output.name) if target is not None else ""
        if not known and len(output.inputs) == 1:
            known = self.of(output.inputs[0].table, output.inputs[0].field)
        return known


def cast_of(item: Sequence[Word]) -> tuple[tuple[Word, ...], str]:
    """Return what an item of a SELECT list casts, and the type, "" without a cast: of a column or of a call, whole; else the item as it is."""
    words = list(item)
    if len(words) > 2 and words[-2][0] == "ALIAS":
        words = words[:-2]
    kinds = [kind for kind, _ in words]
    if "DCOLON" in kinds:
        at = len(kinds) - 1 - kinds[::-1].index("DCOLON")
        column, kind = words[:at], words[at + 1 :]
    elif (
        len(words) > 4
        and words[0][1] == "cast"
        and kinds[1] == "L_PAREN"
        and kinds[-1] == "R_PAREN"
        and "ALIAS" in kinds
    ):
        at = len(kinds) - 1 - kinds[::-1].index("ALIAS")
        column, kind = words[2:at], words[at + 1 : -1]
    else:
        return tuple(words), ""
    if not _is_whole(column):
        return tuple(words), ""
    return tuple(column), "".join(text for _, text in kind)


def _is_whole(words: Sequence[Word]) -> bool:
    """Return whether it is one column, one call or one expression in parentheses."""
    kinds = [kind for kind, _ in words]
    start = 0
    while start < len(kinds) and kinds[start] not in {"L_PAREN", "R_PAREN"}:
        start += 1
    if any(kind in _OPERATORS for kind in kinds[:start]) or not kinds:
        return False
    depth = 0
    for place, kind in enumerate(kinds[start:], start):
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0 and place < len(kinds) - 1:
            return False
    return depth == 0


def shows_alike(old: str, new: str) -> bool:
    """Return whether every value of the old type is one of the new, and is printed and compared alike."""
    before, after = (text.lower().split("(")[0].strip().removesuffix(" varying") for text in (old, new))
    unlimited = (
        after in {"varchar", "character", "string"}
        and "(" not in new
        and "char" in new.lower().replace("string", "char")
    )
    if before == "text" and unlimited and new.lower() not in {"char", "character"}:
        return True
    if not is_wider(old, new) or "real" in before or "float" in before or "double" in before:
        return False
    if before in {"char", "character", "bpchar", "date"} and before != after and "varying" not in old.lower():
        return False
    return _scale(old) == _scale(new) or not _scale(new)


def is_rescaled(old: str, new: str) -> bool:
    """Return whether the values are the same numbers, and only printed with other digits after the point."""
    return bool(_scale(old) and _scale(new)) and is_wider(old, new)


def _scale(kind: str) -> str:
    return kind.partition(",")[2].strip(" )")
