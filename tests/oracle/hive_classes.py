"""The disagreements with Hive that are Hive's own: one rule for each class of hive_verdicts.yaml, which has the causes."""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Line(NamedTuple):
    """One column, or the tables read: what Hive says, what the engine says, and what the engine says decides about it."""

    name: str
    wanted: frozenset[str]
    got: frozenset[str]
    deciding: frozenset[str]
    there: bool

    def __str__(self) -> str:
        return f"{self.name}: Hive {sorted(self.wanted)}, here {sorted(self.got) if self.there else 'no such column'}"


class Surroundings(NamedTuple):
    """The facts that a verdict may rest on beside the line: the statement's text, the columns of Hive's own tables, materialized views made before it."""

    text: str
    columns: Mapping[str, frozenset[str]]
    materialized: frozenset[str]


def column(line: Line, around: Surroundings) -> str:
    """The class of a column Hive says otherwise, or "ours"."""
    text = around.text
    name = line.name.rpartition(".")[2]
    stars = {one.rpartition(".")[0] for one in line.wanted if one.endswith(".*")}
    plain = {one for one in line.wanted if not one.endswith(".*")}
    extra, missing = line.got - line.wanted, line.wanted - line.got
    if re.fullmatch(r"_col\d+", name):
        return "internal names"
    if re.search(r"\bas\s+`_c\d+`", text, re.IGNORECASE):
        return "internal names"
    if line.name.startswith("merge_tmp_table.") or any("temp_table_for_load_data" in one for one in line.wanted):
        return "internal table"
    if stars and plain <= line.got and {one.rpartition(".")[0] for one in line.got - plain} <= stars:
        return "whole table"
    over = re.search(r"\bover\b", text, re.IGNORECASE)
    if over and missing and not extra and missing <= line.deciding:
        return "window"
    if over and missing and not extra and line.there and _whole_rows(line.wanted, around.columns):
        return "row of a window"
    if extra and not missing and all(_compared(one, text) for one in extra):
        return "folded constant"
    tables = {one.rpartition(".")[0] for one in missing}
    if tables and all(re.search(rf"\b{re.escape(one)}\s+as\s*\(", text, re.IGNORECASE) for one in tables):
        return "materialized common table"
    if missing and all(re.fullmatch(r"vc|__\w+", one.rpartition(".")[2]) for one in missing):
        return "virtual column"
    if extra and not missing and re.search(r"[-+*/]\s*null\b", text, re.IGNORECASE):
        return "folded constant"
    return "ours"


def _whole_rows(names: frozenset[str], known: Mapping[str, frozenset[str]]) -> bool:
    """Return whether these are all columns of one table or more."""
    tables: dict[str, set[str]] = {}
    for one in names:
        table, _, own = one.rpartition(".")
        tables.setdefault(table, set()).add(own)
    return all(frozenset(columns) == known.get(table) for table, columns in tables.items())


def _compared(one: str, text: str) -> bool:
    """Return whether a condition compares the column with a constant."""
    name = re.escape(one.rpartition(".")[2])
    constant = r"\(?\s*(?:[-+]?\d|'|\"|cast|null|true|false|date)"
    return bool(
        re.search(rf"\b{name}`?\)?\s*(?:=|==|<=>|is\b)\s*{constant}", text, re.IGNORECASE)
        or re.search(rf"\b{name}`?\)?\s*in\s*\(\s*[^,()]+\)|\b{name}`?\)?\s*like\s*'[^%_']*'", text, re.IGNORECASE)
        or re.search(rf"(?:\d|'|\")\s*=\s*(?:\w+\.)?{name}\b", text, re.IGNORECASE)
    )


def reads(line: Line, around: Surroundings) -> str:
    """The class of tables Hive says otherwise, or "ours"."""
    text = around.text
    extra, missing = line.got - line.wanted, line.wanted - line.got
    if missing and all("temp_table_for_load_data" in one for one in missing):
        return "internal table"
    if (
        missing
        and not extra
        and missing <= line.deciding
        and re.match(r"\s*(update|delete|merge|alter\s+materialized)\b", text, re.IGNORECASE)
    ):
        return "changed in place"
    if missing and not extra and missing <= around.materialized:
        return "materialized view"
    if missing == {"default.src"} and not extra and re.search(r"\bmasking_test\w*_subq", text, re.IGNORECASE):
        return "row filter"
    if missing and not extra and all(_beneath(one, line.got) for one in missing):
        return "view of the system"
    if not line.wanted and re.search(r"\bif\s+not\s+exists\b", text, re.IGNORECASE):
        return "was there"
    if missing and not extra and all(_common(one, text) for one in missing):
        return "materialized common table"
    return "ours"


def _beneath(table: str, read: frozenset[str]) -> bool:
    """Return whether a view of Hive's own catalog over the table is read: `sys.table_stats_view` over `sys.table_params`."""
    database, _, name = table.rpartition(".")
    return database == "sys" and f"sys.{name.removesuffix('_params')}_stats_view" in read


def _common(table: str, text: str) -> bool:
    return bool(re.search(rf"\b{re.escape(table.rpartition('.')[2])}`?\s+as\s*\(", text, re.IGNORECASE))
